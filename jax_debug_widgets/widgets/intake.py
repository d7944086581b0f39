"""Receive the panel's requests while the kernel's main thread is busy.

ipykernel 7.4 hands a widget's messages to the main thread, where they wait for the end of the cell. Versions 7.0 to 7.3 hand
them to a subshell, and then the prints of other threads appear at the wrong place. Since 7.0 messages arrive in a separate
thread, that of the shell channel. The intake takes the panel's messages out there and answers them in its own thread. Other
messages go their usual way, except for the requests of a page that is loaded while a cell runs (`standin`).

ipykernel 6 reads the shell channel in the main thread, but the control channel in another thread. There the front end sends
requests through the control channel, and the intake takes them out in the same way.

No status is published before an answer. The server sends small messages one after the other, and TCP holds the second one back
until the browser has acknowledged the first, which takes 40 ms. A status before each answer would cost that much.

A page shows the kernel as idle as soon as any message is finished, also one of the control channel (a page makes a subshell for
its first widget) or of a subshell. So the intake publishes "busy" after each of those while a cell runs.

The names used are attributes of ipykernel, not its API. If they are missing, nothing is installed, and requests are answered
when the cell has ended.
"""

from __future__ import annotations

import contextvars
import functools
import logging
import queue
import threading
from collections.abc import Callable
from typing import Any

from jax_debug_widgets.widgets.standin import StandIn

Handle = Callable[[dict[str, Any]], None]

_log = logging.getLogger(__name__)

_SHELL_NAMES = ("shell_channel_thread", "shell_channel_thread_main", "shell_stream", "_publish_status")
_CONTROL_NAMES = ("control_stream", "control_thread", "dispatch_control", "_publish_status")

_MOST_UNFINISHED = 500
"""The most answered requests of a cell without an "idle" status. The page remembers each request until that status comes."""


def way_of(kernel: Any) -> str:
    """Return how requests can reach this kernel while a cell runs: `shell`, `control`, or `stdin` for neither."""
    for way, names in (("shell", _SHELL_NAMES), ("control", _CONTROL_NAMES)):
        if all(getattr(kernel, name, None) is not None for name in names):
            return way
    return "stdin"


class Intake:
    """Receives the messages of some comms before they reach the main thread, and handles them in its own thread.

    Attributes:
      way: the channel by which they come, see `way_of`.
    """

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self.way = way_of(kernel)
        self._takers: dict[str, Handle] = {}
        self._pass_on: Any = None
        self._running: Any = None
        """The execute request of the running cell; None between cells."""
        self._unfinished: list[dict[str, Any]] = []
        """The answered requests for which no "idle" status was published yet."""
        self._lock = threading.Lock()
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        # A message from a thread without the cell's context has no parent; ipykernel 7.0 raises LookupError for it.
        self._context = contextvars.copy_context()
        self._stand_in = StandIn(kernel)
        self._publish_status: Callable[..., None] = kernel._publish_status

    @staticmethod
    @functools.cache  # A second intake would take the channel from the first one.
    def of(kernel: Any) -> Intake | None:
        """Return the intake of a kernel; the first call installs it. None if requests cannot come while a cell runs."""
        if way_of(kernel) == "stdin":
            return None
        intake = Intake(kernel)
        intake._install()
        return intake

    def take(self, comm_id: str, handle: Handle) -> None:
        """Give the custom messages of a comm to `handle` from now on, in the intake's thread."""
        self._takers[comm_id] = handle

    def let_go(self, comm_id: str) -> None:
        """Let the messages of a comm go their usual way again."""
        self._takers.pop(comm_id, None)

    def _install(self) -> None:
        """Begin to take messages, from the next message of the channel on."""
        kernel = self._kernel
        kernel._publish_status = self._publish_and_stay_busy
        self._cell_begins()
        kernel.shell.events.register("pre_execute", self._cell_begins)
        kernel.shell.events.register("post_execute", self._cell_ends)
        threading.Thread(target=self._loop, name="jaxdebug-requests", daemon=True).start()
        if self.way == "shell":
            self._pass_on, stream = kernel.shell_channel_thread_main, kernel.shell_stream
            loop = kernel.shell_channel_thread.io_loop
        else:
            self._pass_on, stream = kernel.dispatch_control, kernel.control_stream
            loop = kernel.control_thread.io_loop
        loop.add_callback(lambda: self._attach(stream))

    def _attach(self, stream: Any) -> None:
        """Receive the messages of the channel from now on. It runs in the thread of the channel's loop."""
        subshells: Any = getattr(getattr(self._kernel, "shell_channel_thread", None), "_manager", None)
        if self.way == "shell" and hasattr(subshells, "_shell_socket"):
            # ipykernel 7.0 to 7.3 send replies on the socket, past the stream that reads it. A request that comes just then
            # is not seen until another one comes. Later versions send through the stream.
            subshells._shell_socket = stream
        stream.on_recv(self._receive, copy=False)

    async def _receive(self, frames: Any) -> None:
        if not self._take(frames):
            await self._pass_on(frames)

    def _take(self, frames: Any) -> bool:
        """Put a message into the queue if it is the panel's, or for the stand-in. Return whether it was."""
        session = self._kernel.session
        try:
            # signature, header, parent, metadata, content, buffers
            idents, parts = session.feed_identities(frames, copy=False)
            kind = session.unpack(parts[1].bytes).get("msg_type")
            content = session.unpack(parts[4].bytes)
            is_ours = kind == "comm_msg" and self._is_ours(content)
            if not is_ours and not self._is_for_stand_in(kind, content):
                return False
            message = session.deserialize(parts, content=True, copy=False)  # Checks the signature.
        except Exception:  # noqa: BLE001 - a message that cannot be read goes its usual way.
            _log.exception("jax_debug_widgets could not read a message; it goes its usual way")
            return False
        if is_ours:
            self._work.put(lambda: self._answer(message))
        else:
            self._work.put(lambda: self._stand_in.answer(kind, idents, message))
        return True

    def _is_for_stand_in(self, kind: Any, content: dict[str, Any]) -> bool:
        return self.way == "shell" and self._running is not None and self._stand_in.takes(kind, content)

    def _is_ours(self, content: dict[str, Any]) -> bool:
        return content.get("comm_id") in self._takers and content.get("data", {}).get("method") == "custom"

    def _hand_over(self, content: dict[str, Any]) -> None:
        handle = self._takers.get(content["comm_id"])
        if handle is not None:
            handle(content["data"]["content"])

    def _loop(self) -> None:
        while True:
            work = self._work.get()
            try:
                self._context.copy().run(work)
            except Exception:  # noqa: BLE001 - the thread must live on for the next request.
                _log.exception("jax_debug_widgets could not answer a request")

    def _answer(self, message: dict[str, Any]) -> None:
        try:
            self._hand_over(message["content"])
        finally:
            with self._lock:
                self._unfinished.append(message)
                is_due = self._running is None or len(self._unfinished) >= _MOST_UNFINISHED
            if is_due:
                self._finish()

    def _finish(self) -> None:
        """Publish "idle" for the answered requests, so that the page stops waiting for more."""
        with self._lock:
            finished, self._unfinished = self._unfinished, []
        for message in finished:
            self._publish_status("idle", self.way, parent=message)
        self._busy_again()

    def _publish_and_stay_busy(self, status: str, *of_message: Any, **parent: Any) -> None:
        """Publish a status, in place of the kernel's own method; after "idle" say "busy" again. Any thread may call it."""
        self._publish_status(status, *of_message, **parent)
        if status == "idle":
            self._busy_again()

    def _busy_again(self) -> None:
        """Let the front end show the kernel as busy again if a cell is running."""
        with self._lock:  # A "busy" after the cell's own "idle" would stay for ever.
            if self._running is not None:
                self._publish_status("busy", "shell", parent=self._running)

    def _cell_begins(self) -> None:
        self._running = self._kernel.get_parent("shell")

    def _cell_ends(self) -> None:
        with self._lock:
            self._running = None
        self._finish()
