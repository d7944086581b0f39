"""Receive the panel's requests while the kernel's main thread is busy.

ipykernel 7.4 hands a widget's messages to the main thread, where they wait for the cell to end; 7.0 to 7.3 hand them to a
subshell, which afterwards misplaces what other threads print. Since 7.0 messages arrive in a thread of their own (the shell
channel's), so ours are taken out there and answered in a thread of ours. What is not ours goes its usual way.

The names used are attributes of ipykernel, not its API. Where they are missing, as in ipykernel 6, nothing is installed and
requests are answered when the cell has ended.
"""

from __future__ import annotations

import contextvars
import logging
import queue
import threading
from collections.abc import Callable
from typing import Any

Handle = Callable[[dict[str, Any]], None]

_log = logging.getLogger(__name__)


class Intake:
    """Takes the messages of one comm out of the shell channel's thread, and gives them to `handle` in its own."""

    def __init__(self, kernel: Any, comm_id: str, handle: Handle) -> None:
        self._kernel = kernel
        self._comm_id = comm_id
        self._handle = handle
        self._pass_on: Any = None
        self._running: Any = None
        """The request of the cell that is running."""
        self._messages: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        # A message sent from a thread without the cell's context has no parent; ipykernel 7.0 raises LookupError for it.
        self._context = contextvars.copy_context()

    @staticmethod
    def is_possible(kernel: Any) -> bool:
        """Whether this kernel receives its messages in a thread of their own."""
        names = ("shell_channel_thread", "shell_channel_thread_main", "shell_stream", "_publish_status")
        return all(getattr(kernel, name, None) is not None for name in names)

    def install(self) -> None:
        """Begin to take messages. The next message of the channel comes through us."""
        kernel = self._kernel
        self._pass_on = kernel.shell_channel_thread_main
        self._cell_begins()
        kernel.shell.events.register("pre_execute", self._cell_begins)
        kernel.shell.events.register("post_execute", self._cell_ends)
        threading.Thread(target=self._answer, name="jaxdebug-requests", daemon=True).start()
        loop = kernel.shell_channel_thread.io_loop
        loop.add_callback(lambda: kernel.shell_stream.on_recv(self._receive, copy=False))

    async def _receive(self, frames: Any) -> None:
        if not self._take(frames):
            await self._pass_on(frames)

    def _take(self, frames: Any) -> bool:
        """Whether the message was one of ours; it is in the queue then."""
        session = self._kernel.session
        try:
            _, parts = session.feed_identities(
                frames, copy=False
            )  # signature, header, parent, metadata, content, buffers
            if session.unpack(parts[1].bytes).get("msg_type") != "comm_msg":
                return False
            content = session.unpack(parts[4].bytes)
            if content.get("comm_id") != self._comm_id or content.get("data", {}).get("method") != "custom":
                return False
            self._messages.put(session.deserialize(parts, content=True, copy=False))  # Checks the signature.
        except Exception:  # noqa: BLE001 - a message that is not understood is not ours.
            _log.exception("jax_debug_widgets could not read a message; it goes its usual way")
            return False
        return True

    def _answer(self) -> None:
        while True:
            message = self._messages.get()
            try:
                self._context.copy().run(self._handle, message["content"]["data"]["content"])
            except Exception:  # noqa: BLE001 - the thread must live on for the next request.
                _log.exception("jax_debug_widgets could not answer a request")
            finally:
                self._publish_status(message)

    def _publish_status(self, message: dict[str, Any]) -> None:
        """Complete the front end's request, and let it show the kernel as busy again if a cell is running."""
        self._kernel._publish_status("idle", "shell", parent=message)
        if self._running is not None:
            self._kernel._publish_status("busy", "shell", parent=self._running)

    def _cell_begins(self) -> None:
        self._running = self._kernel.get_parent("shell")

    def _cell_ends(self) -> None:
        self._running = None
