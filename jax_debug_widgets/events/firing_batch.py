"""Hold firings that are collected together, as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from jax_debug_widgets.events.tap import Bundle, Tap

Column = list[np.ndarray] | np.ndarray
"""One array of a tap over its firings: an array with a row for each firing, or a list of the arrays."""


@dataclass(frozen=True)
class TapFirings:
    """The firings of one tap, or of taps that fire together.

    Attributes:
      tap: the tap or the bundle that has fired.
      times_ns: int64[n], `time.perf_counter_ns()` of each firing.
      threads: int64[n], the idents of the threads of the firings; 0 if the thread was not noted.
      columns: a column for each array that the tap hands over; a dropped value is None in it.
      lost: bool[n], whether the values of a firing were dropped; None if none were.
    """

    tap: Tap | Bundle
    times_ns: np.ndarray
    threads: np.ndarray
    columns: Sequence[Column]
    lost: np.ndarray | None

    def beside(self, other: TapFirings) -> TapFirings:
        """Join these firings and others of the same tap. Neither may have dropped values."""
        columns = [
            np.concatenate([joined(one), joined(two)]) for one, two in zip(self.columns, other.columns, strict=True)
        ]
        times, threads = ([self.times_ns, other.times_ns], [self.threads, other.threads])
        return TapFirings(self.tap, np.concatenate(times), np.concatenate(threads), columns, None)

    def by_tap(self) -> list[TapFirings]:
        """Sort the firings by time, and split those of a bundle by tap."""
        if (self.times_ns[1:] < self.times_ns[:-1]).any():  # The threads of several devices append to one list.
            return self._rows(np.argsort(self.times_ns, kind="stable")).by_tap()
        if isinstance(self.tap, Bundle):
            return list(self._unbundled(self.tap))
        if self.tap.nesting.in_parts:
            self.tap.learn_shapes([column[0] for column in self.columns])
        return [self]

    def _unbundled(self, bundle: Bundle) -> Iterator[TapFirings]:
        table = joined(self.columns[0])
        values = iter(self.columns[bundle.dispensable])
        around = self.columns[bundle.around]
        for row, tap in enumerate(bundle.taps):
            count = tap.in_table
            own = [next(values) for _ in range(len(tap.shapes) - count)]
            columns = [
                *(table[:, row, index].view(dtype) for index, dtype in enumerate(tap.dtypes[:count])),
                *own,
                *around,
            ]
            yield TapFirings(tap, self.times_ns, self.threads, columns, self.lost if own else None)

    def _rows(self, rows: np.ndarray) -> TapFirings:
        columns = [_rows_of(column, rows) for column in self.columns]
        lost = None if self.lost is None else self.lost[rows]
        return TapFirings(self.tap, self.times_ns[rows], self.threads[rows], columns, lost)


class FiringBatch:
    """Holds firings in the order of time.

    The code avoids loops over firings, because there may be a million a second.

    Attributes:
      taps: the taps that have fired.
      tap: int64[n], index into `taps`.
      times_ns: int64[n], `time.perf_counter_ns()` of each firing.
      threads: int64[n], the idents of the threads of the firings; 0 if the thread was not noted.
      columns: for each tap a column for each array that it hands over.
      lost: bool[n], whether the values of a firing were dropped; None if none were.
    """

    def __init__(
        self,
        taps: Sequence[Tap],
        tap: np.ndarray,
        times_ns: np.ndarray,
        threads: np.ndarray,
        columns: Sequence[Sequence[Column]],
        lost: np.ndarray | None = None,
    ) -> None:
        self.taps, self.tap, self.times_ns, self.threads = taps, tap, times_ns, threads
        self.columns, self.lost = columns, lost

    @classmethod
    def of(cls, shares: Sequence[TapFirings]) -> FiringBatch:
        """Merge the firings of several taps by time; firings of the same time stay in the order of `shares`."""
        shares = [share for share in shares if len(share.times_ns)]
        taps, columns = [cast("Tap", share.tap) for share in shares], [share.columns for share in shares]
        counts = [len(share.times_ns) for share in shares]
        none = np.zeros(0, np.int64)
        times = np.concatenate([none, *(share.times_ns for share in shares)])
        threads = np.concatenate([none, *(share.threads for share in shares)])
        tap = np.repeat(np.arange(len(shares)), counts)
        lost = None
        if any(share.lost is not None for share in shares):
            kept = (np.zeros(count, bool) for count in counts)
            lost = np.concatenate(
                [all_kept if share.lost is None else share.lost for share, all_kept in zip(shares, kept, strict=True)]
            )
        if len(shares) > 1:
            order = np.argsort(times, kind="stable")
            times, threads, tap = times[order], threads[order], tap[order]
            lost = None if lost is None else lost[order]
        return cls(taps, tap, times, threads, columns, lost)

    def __len__(self) -> int:
        return len(self.tap)

    def part(self, start: int, stop: int) -> FiringBatch:
        """Return firings `start .. stop - 1`, with only the taps that occur in them."""
        if (start, stop) == (0, len(self)):
            return self
        times, threads = self.times_ns[start:stop], self.threads[start:stop]
        own = self.tap[start:stop]
        used = np.flatnonzero(np.bincount(own, minlength=len(self.taps)))
        place = np.zeros(len(self.taps), np.int64)
        place[used] = np.arange(len(used))
        columns = []
        for number in used.tolist():
            first, last = np.searchsorted(self.firings_of(number), (start, stop)).tolist()
            columns.append([column[first:last] for column in self.columns[number]])
        return FiringBatch([self.taps[number] for number in used.tolist()], place[own], times, threads, columns)

    def where(self, chosen: np.ndarray) -> FiringBatch:
        """Return the firings for which `chosen`, bool[n], is true, with only the taps that occur in them."""
        rows = [np.flatnonzero(chosen[self.firings_of(number)]) for number in range(len(self.taps))]
        used = [number for number, mine in enumerate(rows) if len(mine)]
        columns = [[_rows_of(column, rows[number]) for column in self.columns[number]] for number in used]
        tap = np.searchsorted(used, self.tap[chosen])
        lost = None if self.lost is None else self.lost[chosen]
        times, threads = self.times_ns[chosen], self.threads[chosen]
        return FiringBatch([self.taps[number] for number in used], tap, times, threads, columns, lost)

    def of_each(self, numbers: Sequence[int]) -> np.ndarray:
        """Return for each firing the number of its tap, int64[n]; `numbers` has one for each tap."""
        return np.array(numbers, np.int64)[self.tap]

    def firings_of(self, number: int) -> np.ndarray:
        """Return the firings of the tap with this index in `taps`, int64[k]."""
        return self._firings[number]

    @cached_property
    def _firings(self) -> list[np.ndarray]:
        """The firings of each tap. They are found together, because there may be hundreds of taps."""
        if len(self.taps) == 1:
            return [np.arange(len(self))]
        counts = np.bincount(self.tap, minlength=len(self.taps))
        small = self.tap.astype(np.int16) if len(self.taps) < 1 << 15 else self.tap  # A radix sort for int16.
        return np.split(np.argsort(small, kind="stable"), np.cumsum(counts)[:-1])


def _rows_of(column: Column, rows: np.ndarray) -> Column:
    return column[rows] if isinstance(column, np.ndarray) else [column[row] for row in rows.tolist()]


def joined(arrays: Column) -> np.ndarray:
    """Stack arrays of one shape and dtype, `[n, ...]`; for scalars ten times faster than `np.stack`."""
    if isinstance(arrays, np.ndarray):
        return np.ascontiguousarray(arrays)
    try:
        flat = np.frombuffer(b"".join(cast("Sequence[memoryview]", arrays)), arrays[0].dtype)
    except (BufferError, TypeError, ValueError):  # bfloat16 and the like have no buffer; others are not contiguous.
        return np.stack(arrays)
    return flat.reshape(len(arrays), *arrays[0].shape)
