"""Encode the time and the thread of a firing in one integer, because a firing should add as little as possible."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from threading import get_ident
from time import perf_counter_ns
from typing import Any

import numpy as np

_TIME_BITS = 57
"""The bits for nanoseconds, enough for 4.5 years since the machine started. The bits above number the thread, or are 0."""

_TIME = (1 << _TIME_BITS) - 1

_MOST_THREADS = (1 << 63 - _TIME_BITS) - 1


class Stamps:
    """Makes the stamps of the firings of one capture.

    Attributes:
      has_threads: whether stamps contain the thread's number.
      now: returns the stamp of this moment. With the thread it takes three times as long.
    """

    def __init__(self) -> None:
        self.record_threads(False)

    def record_threads(self, wanted: bool) -> None:
        """Put the thread into stamps from now on, or not. If not, the threads' numbers are reused: read older stamps before."""
        if not wanted:
            self._numbers: dict[int, int] = {}
            self._unused = itertools.count(1)
        self.has_threads = wanted
        self.now = self._with_thread if wanted else perf_counter_ns

    def at(self, times_ns: Sequence[int], thread: int) -> Sequence[int]:
        """Return the stamps of other times, in ns of `perf_counter_ns`, in the thread with this ident."""
        if not self.has_threads:
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
        """Return the threads' idents in these stamps, int64[n] for int64[n]; 0 for a stamp without a thread."""
        idents = np.zeros(_MOST_THREADS + 1, np.int64)
        for ident, number in list(self._numbers.items()):
            if number <= _MOST_THREADS:
                idents[number] = ident
        return idents[stamps >> _TIME_BITS]


def times_of(stamps: Any) -> Any:
    """Return the times in stamps, one or int64[n], as `time.perf_counter_ns()`."""
    return stamps & _TIME
