"""What calls in flight will have said when they are over: results of theirs that somebody must look at."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

if TYPE_CHECKING:
    from jax_debug_widgets._jax.straight import Teller

MANY = 256
"""Calls; with more in the backlog the next one looks which of them are over."""


class Handed:
    """What one call says, which is there when it is over. JAX waits for it as for the token of any effect.

    Attributes:
      program: whose call it is; its calls are over in the order in which they were made.
      ended_ns: since when it is over and told, `perf_counter_ns()`; None until then. No event of it is later.
    """

    __slots__ = ("_arrays", "_backlog", "_thread", "ended_ns", "program", "tellers")

    def __init__(
        self, backlog: Backlog, program: object, tellers: Sequence[tuple[Teller, int]], arrays: Sequence[Any]
    ) -> None:
        self.program, self.tellers = program, tellers
        self.ended_ns: int | None = None
        self._backlog, self._thread = backlog, threading.get_ident()
        self._arrays: Sequence[Any] = arrays

    def is_ready(self) -> bool:
        """Whether the call is over; its results are there together."""
        return self.ended_ns is not None or self._arrays[-1].is_ready()

    def block_until_ready(self) -> None:
        """Wait until it is over and told, as the calls before it.

        Raises:
          Exception: what the program raised.
        """
        if self.ended_ns is None:
            self._backlog.wait_for(self)

    def wait(self) -> None:
        """Wait until the call is over."""
        arrays = self._arrays
        if arrays:
            arrays[-1].block_until_ready()

    def tell(self, now: int) -> None:
        """Tell what it says, with times that end `now`: in the order of the program."""
        arrays, self._arrays = self._arrays, ()
        time_ns = now - len(self.tellers)
        try:
            with jax.transfer_guard("allow"):
                values = list(map(np.asarray, arrays))
        except Exception:  # noqa: BLE001 - the program has failed: whoever waits for its outputs is told.
            values = None
        self.ended_ns = now
        if values is None:
            return
        first = 0
        for teller, count in self.tellers:
            time_ns += 1
            teller(time_ns, self._thread, *values[first : first + count])
            first += count


class Backlog:
    """What has been handed and not told, in the order of the calls. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._added: deque[Handed] = deque()
        """The program does not wait for who holds the lock."""
        self._waiting: list[Handed] = []
        self._told_ns = 0

    def add(self, handed: Handed) -> None:
        """A call has been made."""
        self._added.append(handed)
        if len(self._added) > MANY:
            self.tell()

    def tell(self) -> None:
        """Tell what the calls say that are over, but for those after one of the same program that is not."""
        with self._lock:
            self._take_in()
            waiting, self._waiting = self._waiting, []
            going_on: set[object] = set()
            for handed in waiting:
                if handed.program in going_on or not handed.is_ready():
                    going_on.add(handed.program)
                    self._waiting.append(handed)
                else:
                    # Two calls have no time in common: by its time each event finds its call.
                    self._told_ns = max(time.perf_counter_ns(), self._told_ns + 1 + len(handed.tellers))
                    handed.tell(self._told_ns)

    def wait_for(self, last: Handed) -> None:
        """Wait until this call and those before it are over, and tell what they say.

        Raises:
          Exception: what its program raised.
        """
        with self._lock:
            self._take_in()
            place = self._waiting.index(last) if last in self._waiting else 0  # Another thread may have told it.
            before = self._waiting[:place]
        for handed in before:
            with contextlib.suppress(Exception):  # Who waits for that one is told.
                handed.wait()
        try:
            last.wait()
        finally:
            self.tell()

    def _take_in(self) -> None:
        while self._added:
            self._waiting.append(self._added.popleft())
