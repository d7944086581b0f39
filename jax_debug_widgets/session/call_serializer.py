"""Run the calls of one program one after the other where nothing else tells which call an event belongs to.

A program on several devices, or on a GPU, calls the host from XLA's threads, and XLA does not tell which execution calls. On a
device, the executions of a program come one after the other anyway. The only loss is that a thread cannot prepare the next
call meanwhile. Calls of one thread are told apart by how often each fires, unless that depends on values.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Hashable

PATIENCE_S = 2.0
"""How long a thread waits for another one. A host function of a call may wait until the other thread has dispatched too."""


class CallSerializer:
    """Decides which thread may call each program now. Safe from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._holders: dict[Hashable, int] = {}
        """Program -> the thread that called it last, until all calls of the program are over."""
        self._calls: defaultdict[Hashable, int] = defaultdict(int)
        self._waiting: defaultdict[Hashable, deque[int]] = defaultdict(deque)
        """Program -> the threads that wait to call it; the thread that has waited longest comes first."""
        self._together: set[Hashable] = set()
        """Programs with calls that do not end while others wait. Their calls are not serialized any more."""

    def take(self, program: Hashable, *, alone: bool) -> None:
        """Wait until all calls of the program by other threads are over, at most `PATIENCE_S`.

        Args:
          alone: whether to wait for the calls of this thread as well, without a limit. Needed for programs with a number of
            firings that is not known.
        """
        thread = threading.get_ident()
        with self._changed:
            waiting = self._waiting[program]
            is_own = self._holders.get(program, thread) == thread
            is_taken = program in self._holders and (alone or not is_own)
            if program not in self._together and (waiting or is_taken):
                self._wait(program, waiting, thread, None if is_own else PATIENCE_S)
            self._holders[program] = thread
            self._calls[program] += 1

    def give_back(self, program: Hashable) -> None:
        """Note that a call after `take` is over."""
        with self._changed:
            self._calls[program] -= 1
            if not self._calls[program]:
                self._holders.pop(program, None)
                self._changed.notify_all()

    def _wait(self, program: Hashable, waiting: deque[int], thread: int, patience_s: float | None) -> None:
        waiting.append(thread)
        try:
            if not self._changed.wait_for(
                lambda: program in self._together or (program not in self._holders and waiting[0] == thread), patience_s
            ):
                self._together.add(program)
        finally:
            waiting.remove(thread)
            self._changed.notify_all()
