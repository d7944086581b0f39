"""Notice Kernel → Interrupt while the main thread is inside XLA, where Python's signal handlers do not run.

Python writes the number of each signal into a file descriptor at once, whatever the main thread does
(`signal.set_wakeup_fd`). A thread of this module reads it.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

_watches: weakref.WeakSet[InterruptWatch] = weakref.WeakSet()


class InterruptWatch:
    """Calls `interrupted` when SIGINT comes, between `start` and `stop`, which the main thread must call.

    Other listeners (another descriptor, the handler before) get the signal as well, and are restored afterwards. Python drops
    an interrupt that is raised in a callback of the garbage collector, in a `__del__` or in the callback of a weak reference,
    and calls `sys.unraisablehook`. The watch then calls `dropped`.

    Args:
      interrupted: called from the watch's thread, and again from the signal handler.
      is_in_program: whether the main thread runs a program on several devices, which must not end at an arbitrary place. Then
        the handler before is not called, and `interrupted` makes the program end.
      before_handler: called before the handler before is called.
      dropped: called when Python has dropped what the handler raised. Returns whether it is raised elsewhere.
    """

    def __init__(
        self,
        interrupted: Callable[[], None],
        is_in_program: Callable[[], bool],
        before_handler: Callable[[], None],
        dropped: Callable[[], bool],
    ) -> None:
        self._interrupted = interrupted
        self._is_in_program = is_in_program
        self._before_handler = before_handler
        self._dropped = dropped
        self._users = self._handling = 0
        self._heard = self._raised = 0
        """The number of interrupts that the thread has read, and the number that Python has raised."""
        self._is_dropped = False
        """Whether Python has dropped the newest interrupt."""
        self._delivering = threading.RLock()
        """Held while an interrupt is raised or dropped. The thread may be late, and must not act on one that was dropped."""
        self._is_waiting = False
        self._ends: tuple[socket.socket, socket.socket] | None = None
        self._outer = -1
        self._handler: Any = None
        self._late: list[tuple[int, FrameType | None]] | None = None
        """The interrupts that came during `stop`; None outside it."""
        self._unraisable: Callable[[sys.UnraisableHookArgs], Any] = sys.unraisablehook
        self._thread: threading.Thread | None = None
        _watches.add(self)

    def start(self, *, handles: bool = True) -> None:
        """Begin to listen; outside the main thread it does nothing.

        Args:
          handles: whether to replace the signal handler until `stop`. The new handler is a frame in an interrupt's traceback.
        """
        if threading.current_thread() is not threading.main_thread():
            return
        self._users += 1
        self._handling += handles
        self._is_waiting = False
        if self._users == 1:
            self._heard = self._raised = 0
            self._is_dropped = False
        if handles and self._handling == 1:
            self._handler = signal.getsignal(signal.SIGINT)
            if callable(self._handler):
                signal.signal(signal.SIGINT, self._on_signal)
            self._unraisable, sys.unraisablehook = sys.unraisablehook, self._on_unraisable
        if self._users > 1:
            return
        reading, writing = socket.socketpair()
        writing.setblocking(False)
        self._ends = reading, writing
        self._outer = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._listen, args=(reading,), name="jaxdebug-interrupts", daemon=True)
        self._thread.start()

    def stop(self, *, handles: bool = True) -> None:
        """End listening; called with the same `handles` as `start`."""
        if threading.current_thread() is not threading.main_thread() or not self._users:
            return
        self._late = late = []
        try:
            self._users -= 1
            self._handling -= handles
            self._listen_no_more()
            if handles and not self._handling:
                if sys.unraisablehook == self._on_unraisable:
                    sys.unraisablehook = self._unraisable
                if signal.getsignal(signal.SIGINT) == self._on_signal:
                    signal.signal(signal.SIGINT, self._handler)
        finally:
            self._late, handler = None, signal.getsignal(signal.SIGINT)
            if late and callable(handler):
                handler(*late[0])

    def _listen_no_more(self) -> None:
        if self._users or self._ends is None:
            return
        reading, writing = self._ends
        current = signal.set_wakeup_fd(self._outer)
        if current not in (writing.fileno(), -1):
            signal.set_wakeup_fd(current)  # Other code has set a descriptor since, and still uses it.
        writing.close()
        if self._thread is not None:
            self._thread.join(1)
        reading.close()
        self._ends = self._thread = None

    def forked(self) -> None:
        """Stop listening in a forked child. It shares the descriptor, so its signals would reach the parent's thread."""
        if self._ends is None:
            return
        signal.set_wakeup_fd(self._outer)
        if signal.getsignal(signal.SIGINT) == self._on_signal:
            signal.signal(signal.SIGINT, self._handler)
        if sys.unraisablehook == self._on_unraisable:
            sys.unraisablehook = self._unraisable
        for end in self._ends:
            end.close()
        self._ends = self._thread = None
        self._users = self._handling = 0
        self._delivering = threading.RLock()  # The parent's thread, which the child does not have, may have held it.

    def _on_unraisable(self, unraisable: sys.UnraisableHookArgs) -> None:
        if unraisable.exc_type is KeyboardInterrupt and self._handling:
            with self._delivering:
                self._is_dropped = self._dropped()
            if self._is_dropped:
                return
        self._unraisable(unraisable)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._late is not None:
            self._late.append((number, frame))
            return
        if not self._raises():
            self._handler(number, frame)
            return
        self._interrupted()  # The thread may not have read the signal yet.
        # A second interrupt does not wait for the program's next event: there may be none.
        is_left_to_program = self._is_in_program() and not self._is_waiting
        self._is_waiting = is_left_to_program
        if not is_left_to_program:
            with self._delivering:
                self._raised += 1
                self._is_dropped = False
                self._before_handler()
            self._handler(number, frame)

    def _raises(self) -> bool:
        """Whether an interrupt raises `KeyboardInterrupt` in the main thread. A handler of the program's own may not raise."""
        handler = signal.getsignal(signal.SIGINT)
        return (self._handler if handler == self._on_signal else handler) == signal.default_int_handler

    def _listen(self, reading: socket.socket) -> None:
        while data := reading.recv(64):
            if self._outer != -1:
                try:
                    os.write(self._outer, data)
                except OSError:
                    self._outer = -1
            self._heard += data.count(signal.SIGINT)
            if self._heard > self._raised and self._raises():
                self._interrupted()
                with self._delivering:
                    if self._raised >= self._heard and not self._is_dropped:  # The handler has raised it meanwhile.
                        self._before_handler()


def _forked() -> None:
    for watch in _watches:
        watch.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
