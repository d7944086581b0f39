"""When something fired and in which thread, in one integer: what a firing puts in is no more than it must be."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from threading import get_ident
from time import perf_counter_ns
from typing import Any

import numpy as np

_TIME_BITS = 57
"""Nanoseconds of 4.5 years since the machine was started; above them a number for the thread, 0 where it is not told."""

_TIME = (1 << _TIME_BITS) - 1

_MOST_THREADS = (1 << 63 - _TIME_BITS) - 1


class Stamps:
    """Stamps of the firings of one capture.

    Attributes:
      tells: whether they tell the thread.
      now: gives the stamp of this moment. It tells the thread only where that was asked for: it takes three times as long.
    """

    def __init__(self) -> None:
        self.tell_threads(False)

    def tell_threads(self, wanted: bool) -> None:
        """Whether to, from now on. Where they are not, all numbers are free again: stamps that have one must have been read."""
        if not wanted:
            self._numbers: dict[int, int] = {}
            self._unused = itertools.count(1)
        self.tells = wanted
        self.now = self._with_thread if wanted else perf_counter_ns

    def at(self, times_ns: Sequence[int], thread: int) -> Sequence[int]:
        """The stamps of other moments in the thread with this ident."""
        if not self.tells:
            return times_ns
        bits = self._bits_of(thread)
        return [time_ns | bits for time_ns in times_ns]

    def _with_thread(self) -> int:
        return perf_counter_ns() | self._bits_of(get_ident())

    def _bits_of(self, thread: int) -> int:
        number = self._numbers.get(thread)
        if number is None:
            number = self._numbers[thread] = next(self._unused)
        return number << _TIME_BITS if number <= _MOST_THREADS else 0

    def threads_of(self, stamps: np.ndarray) -> np.ndarray:
        """The idents, int64[n], of the threads that these stamps, int64[n], tell; 0 where they do not."""
        idents = np.zeros(_MOST_THREADS + 1, np.int64)
        for ident, number in list(self._numbers.items()):
            if number <= _MOST_THREADS:
                idents[number] = ident
        return idents[stamps >> _TIME_BITS]


def times_of(stamps: Any) -> Any:
    """Stamps, one or int64[n], as `time.perf_counter_ns()`."""
    return stamps & _TIME
