"""Notice Kernel → Interrupt while the main thread is inside XLA, where Python's signal handlers do not run.

Python writes the number of each signal into a file descriptor at once, whatever the main thread does
(`signal.set_wakeup_fd`); a thread of ours reads it.
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

    Other listeners (another descriptor, the handler) hear of it as well, and are restored afterwards. An interrupt that is
    raised in a callback of the garbage collector's, in a `__del__` or in a weak reference's callback is dropped by Python,
    which tells `sys.unraisablehook` of it; `dropped` hears of that.

    Args:
      interrupted: called from a thread of ours, and again from the handler.
      is_in_program: whether the main thread runs a program that must not be interrupted at a place of its own choice: one
        on several devices. Then the handler is not called, and the program ends as `interrupted` makes it.
      told: called before the handler is.
      dropped: called where Python has dropped what the handler raised; whether it is raised elsewhere.
    """

    def __init__(
        self,
        interrupted: Callable[[], None],
        is_in_program: Callable[[], bool],
        told: Callable[[], None],
        dropped: Callable[[], bool],
    ) -> None:
        self._interrupted = interrupted
        self._is_in_program = is_in_program
        self._told = told
        self._dropped = dropped
        self._users = self._handling = 0
        self._heard = self._raised = 0
        """How many interrupts the thread has heard of, and how many Python has raised."""
        self._is_dropped = False
        """Whether Python has dropped the newest."""
        self._telling = threading.RLock()
        """Held while an interrupt is raised or dropped: the thread may come late, and reports none that has been dropped."""
        self._is_waiting = False
        self._ends: tuple[socket.socket, socket.socket] | None = None
        self._outer = -1
        self._handler: Any = None
        self._late: list[tuple[int, FrameType | None]] | None = None
        """The interrupts that have come while `stop` is at work."""
        self._unraisable: Callable[[sys.UnraisableHookArgs], Any] = sys.unraisablehook
        self._thread: threading.Thread | None = None
        _watches.add(self)

    def start(self, *, handles: bool = True) -> None:
        """Begin to listen; in other threads than the main one nothing happens.

        Args:
          handles: whether the handler becomes ours until `stop`. It is a frame in the traceback of an interrupt.
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
        """Listen no more; to be called as `start` was."""
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
            signal.set_wakeup_fd(current)  # Somebody came after us and has not gone.
        writing.close()
        if self._thread is not None:
            self._thread.join(1)
        reading.close()
        self._ends = self._thread = None

    def forked(self) -> None:
        """In a forked process, which shares the descriptor: its signals are no longer the first one's."""
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
        self._telling = threading.RLock()  # The thread, which is not there, may have held it.

    def _on_unraisable(self, unraisable: sys.UnraisableHookArgs) -> None:
        if unraisable.exc_type is KeyboardInterrupt and self._handling:
            with self._telling:
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
        self._interrupted()  # The thread may not have come to it yet.
        # Asked a second time, do not wait for the program's next event: there may be none.
        is_left_to_program = self._is_in_program() and not self._is_waiting
        self._is_waiting = is_left_to_program
        if not is_left_to_program:
            with self._telling:
                self._raised += 1
                self._is_dropped = False
                self._told()
            self._handler(number, frame)

    def _raises(self) -> bool:
        """Whether an interrupt is one to the main thread's code: a handler of its own may only take a note of it."""
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
                with self._telling:
                    if self._raised >= self._heard and not self._is_dropped:  # Raised meanwhile.
                        self._told()


def _forked() -> None:
    for watch in _watches:
        watch.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
