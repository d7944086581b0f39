"""Have the calls of one program come one after the other, where nothing else says which of them an event is of.

A program that runs on several devices, or on a GPU, calls the host from threads of XLA's, and XLA says of no such call which
execution it is of. On a device its executions come one after the other in any case; what is lost is that a thread could prepare
the next one meanwhile. Of the calls of one thread it is known by how often each fires; where that hangs on values it is not.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Hashable

PATIENCE_S = 2.0
"""How long a thread waits for another: what a call calls on the host may wait until that one has dispatched its own."""


class CallSerializer:
    """Whose turn it is to call each program. Safe from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._holders: dict[Hashable, int] = {}
        """Program -> the thread that has called it last, until all its calls are over."""
        self._calls: defaultdict[Hashable, int] = defaultdict(int)
        self._waiting: defaultdict[Hashable, deque[int]] = defaultdict(deque)
        """Program -> the threads that wait for their turn, the one that waits longest first."""
        self._together: set[Hashable] = set()
        """Programs whose calls do not end while others wait."""

    def take(self, program: Hashable, *, alone: bool) -> None:
        """Wait until all calls of the program that other threads have begun are over; but see `PATIENCE_S`.

        Args:
          alone: wait for those of this thread as well, as long as they take: nobody knows how often a call of it fires.
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
        """A call for which a turn was taken is over."""
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
