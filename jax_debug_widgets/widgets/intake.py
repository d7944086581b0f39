"""Receive the panel's requests while the kernel's main thread is busy.

ipykernel 7.4 hands a widget's messages to the main thread, where they wait for the cell to end; 7.0 to 7.3 hand them to a
subshell, which afterwards misplaces what other threads print. Since 7.0 messages arrive in a thread of their own (the shell
channel's), so ours are taken out there and answered in a thread of ours. What is not ours goes its usual way, except what a
page asks that is loaded while a cell runs (`standin`).

ipykernel 6 reads the shell channel in the main thread, but the control channel in another: the front end sends there
when we ask it to, and there they are taken out likewise.

Nothing is published before an answer. The server sends small messages one after the other, and TCP holds the second back until
the browser has acknowledged the first, which takes it 40 ms: a status in front of each answer cost that much.

A page shows the kernel as idle as soon as any message is done with: one of the control channel (a page makes a subshell for the
first widget it sees) or of a subshell. While a cell runs, "busy" follows each of those.

The names used are attributes of ipykernel, not its API. Where they are missing nothing is installed, and requests are answered
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
"""Requests of one cell for which the page may keep waiting; it remembers each until it hears that it is done with."""


def way_of(kernel: Any) -> str:
    """How requests can reach this kernel while a cell runs: `shell`, `control`, or `stdin` for neither."""
    for way, names in (("shell", _SHELL_NAMES), ("control", _CONTROL_NAMES)):
        if all(getattr(kernel, name, None) is not None for name in names):
            return way
    return "stdin"


class Intake:
    """Takes the messages of some comms off the way to the main thread, and gives each to its taker in a thread of its own.

    Attributes:
      way: by which they come, see `way_of`.
    """

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self.way = way_of(kernel)
        self._takers: dict[str, Handle] = {}
        self._pass_on: Any = None
        self._running: Any = None
        """The request of the cell that is running."""
        self._unfinished: list[dict[str, Any]] = []
        """Requests that were answered, where the page does not know yet that nothing more comes."""
        self._lock = threading.Lock()
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        # A message sent from a thread without the cell's context has no parent; ipykernel 7.0 raises LookupError for it.
        self._context = contextvars.copy_context()
        self._stand_in = StandIn(kernel)
        self._publish_status: Callable[..., None] = kernel._publish_status

    @staticmethod
    @functools.cache  # The second of a kernel would take the channel from the first.
    def of(kernel: Any) -> Intake | None:
        """The intake of this kernel, installed when first asked for; None where its messages come another way."""
        if way_of(kernel) == "stdin":
            return None
        intake = Intake(kernel)
        intake._install()
        return intake

    def take(self, comm_id: str, handle: Handle) -> None:
        """Give the custom messages of that comm to `handle` from now on, in a thread that is not the main one."""
        self._takers[comm_id] = handle

    def let_go(self, comm_id: str) -> None:
        """Messages of that comm go their usual way again."""
        self._takers.pop(comm_id, None)

    def _install(self) -> None:
        """Begin to take messages. The next message of the channel comes through us."""
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
        """Take what comes on the channel from now on; in the thread of its loop."""
        subshells: Any = getattr(getattr(self._kernel, "shell_channel_thread", None), "_manager", None)
        if self.way == "shell" and hasattr(subshells, "_shell_socket"):
            # ipykernel 7.0 to 7.3 send replies past the stream that reads the socket: a request that comes just then is not
            # seen until another comes. Later versions send through the stream.
            subshells._shell_socket = stream
        stream.on_recv(self._receive, copy=False)

    async def _receive(self, frames: Any) -> None:
        if not self._take(frames):
            await self._pass_on(frames)

    def _take(self, frames: Any) -> bool:
        """Whether the message was one of ours; it is in the queue then."""
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
        except Exception:  # noqa: BLE001 - a message that is not understood is not ours.
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
        """Tell the page that nothing more comes of its requests."""
        with self._lock:
            finished, self._unfinished = self._unfinished, []
        for message in finished:
            self._publish_status("idle", self.way, parent=message)
        self._busy_again()

    def _publish_and_stay_busy(self, status: str, *of_message: Any, **parent: Any) -> None:
        """Publish a status instead of the kernel, in whichever thread a message of it is done with."""
        self._publish_status(status, *of_message, **parent)
        if status == "idle":
            self._busy_again()

    def _busy_again(self) -> None:
        """Let the front end show the kernel as busy again if a cell is running."""
        with self._lock:  # Once the cell has ended, what came after its own "idle" would stay.
            if self._running is not None:
                self._publish_status("busy", "shell", parent=self._running)

    def _cell_begins(self) -> None:
        self._running = self._kernel.get_parent("shell")

    def _cell_ends(self) -> None:
        with self._lock:
            self._running = None
        self._finish()
