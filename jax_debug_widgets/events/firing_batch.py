"""Firings that are taken in together, as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from jax_debug_widgets.events.tap import Bundle, Tap

Column = list[np.ndarray] | np.ndarray
"""One value of a tap, or a mesh coordinate, over its firings: an array with a row each, or the arrays themselves."""


@dataclass(frozen=True)
class TapFirings:
    """The firings of one tap, or of taps that fire together.

    Attributes:
      tap: which has fired.
      times_ns: int64[n], `time.perf_counter_ns()`.
      threads: int64[n], idents of the threads in which it fired; 0 where that is not told.
      columns: of each array that it hands over, that of each firing; None for each value that was let go of.
      lost: bool[n], the firings whose values were let go of; None if none were.
    """

    tap: Tap | Bundle
    times_ns: np.ndarray
    threads: np.ndarray
    columns: Sequence[Column]
    lost: np.ndarray | None

    def beside(self, other: TapFirings) -> TapFirings:
        """Join this batch and other firings of the same tap; none of them has dropped anything."""
        columns = [
            np.concatenate([joined(one), joined(two)]) for one, two in zip(self.columns, other.columns, strict=True)
        ]
        times, threads = ([self.times_ns, other.times_ns], [self.threads, other.threads])
        return TapFirings(self.tap, np.concatenate(times), np.concatenate(threads), columns, None)

    def by_tap(self) -> list[TapFirings]:
        """The same in the order of time, a share a tap."""
        if (self.times_ns[1:] < self.times_ns[:-1]).any():  # The threads of several devices put in one tray.
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
            count = tap.shapes.count(())
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
    """Some firings in the order of time.

    Looked through as seldom as can be: at a million firings a second each loop over them is felt.

    Attributes:
      taps: the taps that have fired.
      tap: int64[n], index into `taps`.
      times_ns: int64[n], `time.perf_counter_ns()`.
      threads: int64[n], idents of the threads in which they fired; 0 where that is not told.
      columns: of each tap, of each array that it hands over, that of each of its firings.
      lost: bool[n], the firings whose values were let go of; None if none were.
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
        """The firings of all shares, one a tap; those of the same time in the order of the shares."""
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
        """Firings `start .. stop - 1`, with only the taps that occur in them."""
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
        """The firings for which `chosen`, bool[n], is true, with only the taps that occur in them."""
        rows = [np.flatnonzero(chosen[self.firings_of(number)]) for number in range(len(self.taps))]
        used = [number for number, mine in enumerate(rows) if len(mine)]
        columns = [[_rows_of(column, rows[number]) for column in self.columns[number]] for number in used]
        tap = np.searchsorted(used, self.tap[chosen])
        lost = None if self.lost is None else self.lost[chosen]
        times, threads = self.times_ns[chosen], self.threads[chosen]
        return FiringBatch([self.taps[number] for number in used], tap, times, threads, columns, lost)

    def of_each(self, numbers: Sequence[int]) -> np.ndarray:
        """int64[n]: for each firing, the number of its tap out of these, one a tap."""
        return np.array(numbers, np.int64)[self.tap]

    def firings_of(self, number: int) -> np.ndarray:
        """int64[k]: the firings of the tap with this number."""
        return self._firings[number]

    @cached_property
    def _firings(self) -> list[np.ndarray]:
        """Of each tap; found together, because there may be hundreds of them."""
        if len(self.taps) == 1:
            return [np.arange(len(self))]
        counts = np.bincount(self.tap, minlength=len(self.taps))
        small = self.tap.astype(np.int16) if len(self.taps) < 1 << 15 else self.tap  # These NumPy need not compare.
        return np.split(np.argsort(small, kind="stable"), np.cumsum(counts)[:-1])


def _rows_of(column: Column, rows: np.ndarray) -> Column:
    return column[rows] if isinstance(column, np.ndarray) else [column[row] for row in rows.tolist()]


def joined(arrays: Column) -> np.ndarray:
    """Arrays of one shape and dtype as one, `[n, ...]`; ten times faster than `np.stack` for scalars."""
    if isinstance(arrays, np.ndarray):
        return np.ascontiguousarray(arrays)
    try:
        flat = np.frombuffer(b"".join(cast("Sequence[memoryview]", arrays)), arrays[0].dtype)
    except (BufferError, TypeError, ValueError):  # bfloat16 and its like have no buffer; others are not contiguous.
        return np.stack(arrays)
    return flat.reshape(len(arrays), *arrays[0].shape)
