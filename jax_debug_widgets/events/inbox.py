"""Hold firings until the session takes them in."""

from __future__ import annotations

import functools
import itertools
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from jax_debug_widgets.events.firing_batch import FiringBatch, TapFirings
from jax_debug_widgets.events.stamps import Stamps, times_of
from jax_debug_widgets.events.tap import Bundle, Firing, Tap

if TYPE_CHECKING:
    from jax_debug_widgets.events.firing_batch import Column

COUNTED = 4096
"""Taps with fewer bytes do not count towards the limit: a device hands over at most some 50 MB of such values between two times
that the inbox is emptied."""

_UNBOUNDED = 1 << 62


class FiringSource(Protocol):
    """A place other than the inbox where a tap puts small firings, such as a ring."""

    def take(self, until_ns: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]] | None:
        """Take out the firings until this time: times int64[n], threads int64[n] and columns; None without firings."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether the source is empty and will stay so."""
        ...

    def __len__(self) -> int: ...


class Inbox:
    """Holds the firings of each tap in a list. Threads add firings while another thread takes them out, without a lock.

    A tap's list is flat: stamp, values, stamp, values, ... An object for each firing would be one more for Python's garbage
    collector to look at, which costs more than all other work here. `list.extend` of a tuple and the deletion of a slice are
    atomic.

    Large values could fill the memory until they are taken in. So at most `limit` bytes of them are held. Beyond that the
    oldest values are dropped; their firings stay without values, to be counted.

    Attributes:
      stamps: makes the stamp that a firing begins with.
      limit: bytes of values that may wait here, from taps of `COUNTED` bytes or more. The newest firing always may.
    """

    def __init__(self, limit: int = _UNBOUNDED) -> None:
        self.stamps = Stamps()
        self.limit = limit
        self._trays: dict[Tap | Bundle, list[Any]] = {}
        self._sources: dict[Tap | Bundle, list[FiringSource]] = {}
        self._large: deque[tuple[int, Tap | Bundle, list[Any]]] = deque()
        self._held = 0
        """Bytes in `_large`. If two threads add at once, one addition may be lost; each `take` corrects the sum."""

    def putter(self, tap: Tap | Bundle) -> Callable[[Firing], None]:
        """Return the function that adds a firing of `tap`. It is safe from any thread."""
        flat = self._trays.setdefault(tap, [])
        return functools.partial(self._put_large, tap, flat) if _is_large(tap) else flat.extend

    def putter_of_columns(self, tap: Tap | Bundle) -> Callable[[Sequence[int], Sequence[Sequence[np.ndarray]]], None]:
        """Return the function that adds several firings of `tap`: it takes their stamps, and a column for each value."""
        flat, put = self._trays.setdefault(tap, []), self.putter(tap)

        def put_all(stamps: Sequence[int], columns: Sequence[Sequence[np.ndarray]]) -> None:
            firings = zip(stamps, *columns, strict=True)
            if _is_large(tap):
                for firing in firings:
                    put(firing)
            else:
                flat.extend([*itertools.chain.from_iterable(firings)])

        return put_all

    def draw_from(self, tap: Tap | Bundle, source: FiringSource) -> None:
        """Take firings of `tap`, which has fewer than `COUNTED` bytes, from this source as well."""
        self._trays.setdefault(tap, [])
        self._sources.setdefault(tap, []).append(source)

    def take(self) -> FiringBatch:
        """Take out all firings in the order of time. Only one thread at a time may call it."""
        # The lists are emptied one after the other. Firings that come meanwhile stay: taken now, one could overtake its cause.
        now = time.perf_counter_ns()
        batch = FiringBatch.of(
            [share for tap, flat in list(self._trays.items()) for share in self._all_taken(tap, flat, now)]
        )
        while self._large and self._large[0][0] <= now:
            self._large.popleft()
        self._held = sum(tap.nbytes for _, tap, _ in self._large.copy())
        return batch

    @property
    def waiting(self) -> int:
        """The number of stamps and arrays in the inbox and its sources."""
        written = sum(len(source) * (1 + tap.width) for tap, source in self._all_sources())
        return written + sum(map(len, list(self._trays.values())))

    def __bool__(self) -> bool:
        return any(list(self._trays.values())) or any(len(source) for _, source in self._all_sources())

    def _all_sources(self) -> Iterator[tuple[Tap | Bundle, FiringSource]]:
        return ((tap, source) for tap, sources in list(self._sources.items()) for source in sources)

    def _put_large(self, tap: Tap | Bundle, flat: list[Any], firing: Firing) -> None:
        stamp, *arrays = firing
        self._large.append((times_of(stamp), tap, arrays))
        self._held += tap.nbytes
        flat.extend((stamp, arrays))
        while self._held > self.limit and len(self._large) > 1:
            try:
                _, oldest, emptied = self._large.popleft()
            except IndexError:  # Another thread has made room.
                return
            emptied[oldest.dispensable] = [None] * len(emptied[oldest.dispensable])
            self._held -= oldest.nbytes

    def _all_taken(self, tap: Tap | Bundle, flat: list[Any], now: int) -> Sequence[TapFirings]:
        """Take the firings until `now` out of a tap's list and its sources."""
        taken = [self._taken(tap, flat, now)] if flat else []
        sources = self._sources.get(tap, [])
        for source in sources.copy():
            if source.is_over:
                sources.remove(source)
            elif found := source.take(now):
                times, threads, columns = found
                taken.append(
                    TapFirings(
                        tap, times, threads if self.stamps.has_threads else np.zeros_like(threads), columns, None
                    )
                )
        shares = [share for share in taken if share is not None]
        return functools.reduce(TapFirings.beside, shares).by_tap() if shares else []

    def _taken(self, tap: Tap | Bundle, flat: list[Any], now: int) -> TapFirings | None:
        stride = 2 if _is_large(tap) else 1 + tap.width
        taken = flat[:]
        stamps = np.array(taken[::stride], np.int64)
        times = times_of(stamps)
        if times[-1] > now:
            times = times[: int(np.argmax(times > now))]
            del taken[len(times) * stride :]
        del flat[: len(taken)]
        if not taken:
            return None
        threads = self.stamps.threads_of(stamps[: len(times)])
        if not _is_large(tap):
            columns: list[Column] = [taken[field::stride] for field in range(1, stride)]
            return TapFirings(tap, times, threads, columns, None)
        # Each firing is copied, because another thread may still drop values of the lists.
        rows = [tuple(arrays) for arrays in taken[1::stride]]
        lost = np.array([row[tap.dispensable][0] is None for row in rows], bool)
        columns = [list(map(itemgetter(index), rows)) for index in range(tap.width)]
        return TapFirings(tap, times, threads, columns, lost if lost.any() else None)


def _is_large(tap: Tap | Bundle) -> bool:
    return tap.nbytes >= COUNTED
