"""What has fired and nobody has taken in yet."""

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
"""Bytes; taps of less are not counted: a device hands over some 50 MB of such values until the inbox is emptied again."""

_UNBOUNDED = 1 << 62


class FiringSource(Protocol):
    """Where a tap puts its firings in another way, small ones."""

    def take(self, until_ns: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]] | None:
        """Those until then, taken out: times, int64[n], threads, int64[n], and columns; None if there are none."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether it is empty for ever."""
        ...

    def __len__(self) -> int: ...


class Inbox:
    """Firings, each tap's for itself. Threads put in what others take out, without a lock.

    A tap's tray is one flat list - stamp, values, stamp, values, ... - because an object for each firing would be one more
    for Python's garbage collector to look at, which costs more than all else here. `list.extend` of a tuple and the
    deletion of a slice are each one step that no other thread gets into.

    Large values would fill the memory until they are taken in, so no more than `limit` bytes of them are held: beyond
    that the oldest is let go of, and its firing goes on without values, to be counted.

    Attributes:
      stamps: what a firing begins with.
      limit: bytes of values, of taps of `COUNTED` bytes or more, that may wait here; the newest always may.
    """

    def __init__(self, limit: int = _UNBOUNDED) -> None:
        self.stamps = Stamps()
        self.limit = limit
        self._trays: dict[Tap | Bundle, list[Any]] = {}
        self._sources: dict[Tap | Bundle, list[FiringSource]] = {}
        self._large: deque[tuple[int, Tap | Bundle, list[Any]]] = deque()
        self._held = 0
        """Bytes in `_large`. Two threads may add to it at once and one addition be lost; each `take` sets it right."""

    def putter(self, tap: Tap | Bundle) -> Callable[[Firing], None]:
        """The function that puts in a firing of `tap`; safe from any thread."""
        flat = self._trays.setdefault(tap, [])
        return functools.partial(self._put_large, tap, flat) if _is_large(tap) else flat.extend

    def putter_of_columns(self, tap: Tap | Bundle) -> Callable[[Sequence[int], Sequence[Sequence[np.ndarray]]], None]:
        """The function that puts in several firings of `tap`: their stamps, and for each of its values a column of them."""
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
        """Take firings of `tap`, of less than `COUNTED` bytes, out of this as well."""
        self._trays.setdefault(tap, [])
        self._sources.setdefault(tap, []).append(source)

    def take(self) -> FiringBatch:
        """Take out what is in it, in the order of time; for one thread at a time."""
        # The trays are emptied one after the other. What fires meanwhile stays, or it might come before what led to it.
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
        """How many stamps and arrays are in it."""
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
        """Take what has fired until `now` out of a tray, and out of what else there is for its tap."""
        taken = [self._taken(tap, flat, now)] if flat else []
        sources = self._sources.get(tap, [])
        for source in sources.copy():
            if source.is_over:
                sources.remove(source)
            elif found := source.take(now):
                times, threads, columns = found
                taken.append(
                    TapFirings(tap, times, threads if self.stamps.tells else np.zeros_like(threads), columns, None)
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
        # A copy of each; nothing of it is dropped any more.
        rows = [tuple(arrays) for arrays in taken[1::stride]]
        lost = np.array([row[tap.dispensable][0] is None for row in rows], bool)
        columns = [list(map(itemgetter(index), rows)) for index in range(tap.width)]
        return TapFirings(tap, times, threads, columns, lost if lost.any() else None)


def _is_large(tap: Tap | Bundle) -> bool:
    return tap.nbytes >= COUNTED
