"""A run of firings in arrival order, their numbers in columns, so that a million scalars are tens of megabytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from jax_debug_widgets.events import Event, Lot, Tap

LARGE = 1 << 16
"""Bytes; firings above it are kept as the arrays they came in, below it they are copied into one column a site."""

OVERHEAD = 48
"""Bytes that a firing costs besides its values: its row in the columns below."""

Column = Sequence[np.ndarray] | np.ndarray
"""One value of a tap over its firings: an array with a row each, or the arrays themselves."""


@dataclass(frozen=True)
class Columns:
    """Some consecutive events as columns, one row an event.

    Attributes:
      first: how many events of the run arrived before the first of them.
      site: int64[n]; time_ns: int64[n], since the run started; occurrence: int64[n];
      lane: int64[n], flat index over the `vmap` axes (row-major), -1 where there is none;
      call: int64[n], -1 where it is not known.
    """

    first: int
    site: np.ndarray
    time_ns: np.ndarray
    occurrence: np.ndarray
    lane: np.ndarray
    call: np.ndarray

    def __len__(self) -> int:
        return len(self.site)


class Segment:
    """Firings that arrived one after the other. Not changed once made."""

    def __init__(
        self,
        first: int,
        lot: Lot,
        origin_ns: int,
        calls: np.ndarray,
        occurrences: np.ndarray,
        ordinals: np.ndarray,
    ) -> None:
        self.first = first
        self.taps = lot.taps
        self._tap = lot.tap
        self._time = lot.times_ns - origin_ns
        self._call, self._occurrence, self._ordinal = calls, occurrences, ordinals
        self._row = np.empty(len(lot), np.int64)
        self._columns: list[list[Column]] = []
        for number, tap in enumerate(self.taps):
            mine = np.flatnonzero(self._tap == number)
            self._row[mine] = np.arange(len(mine))
            values = zip(*(lot.arrays[position] for position in mine.tolist()), strict=True)
            self._columns.append([_column(tap, list(arrays)) for arrays in values])
        sizes = lot.of_each([tap.size for tap in self.taps])
        costs = lot.of_each([tap.nbytes + OVERHEAD for tap in self.taps])
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self._bytes = np.concatenate([[0], np.cumsum(costs)])

    @property
    def stop(self) -> int:
        """Position after the last event."""
        return self.first + int(self._starts[-1])

    def bytes_from(self, position: int) -> int:
        """Bytes of the firings from the one at event `position` on."""
        return int(self._bytes[-1] - self._bytes[self._firing_at(position)])

    def position_to_free(self, position: int, events: int, nbytes: int) -> int:
        """The event to keep from, so that at least `events` and `nbytes` after `position` are free; whole firings only."""
        start = self._firing_at(position)
        by_events = np.searchsorted(self._starts, self._starts[start] + events)
        by_bytes = np.searchsorted(self._bytes, self._bytes[start] + nbytes)
        return self.first + int(self._starts[min(max(by_events, by_bytes), len(self._tap))])

    def sites_between(self, start: int, stop: int) -> dict[int, int]:
        """Site id -> how many events of it lie in `start .. stop - 1`; both at the border of a firing."""
        firings = slice(self._firing_at(start), self._firing_at(stop))
        counts: dict[int, int] = {}
        numbers, times = np.unique(self._tap[firings], return_counts=True)
        for number, count in zip(numbers.tolist(), times.tolist(), strict=True):
            tap = self.taps[number]
            counts[tap.site.id] = counts.get(tap.site.id, 0) + count * tap.size
        return counts

    def event(self, position: int) -> Event:
        """The event at this position of the run."""
        firing, lane = self._locate(position)
        tap = self.taps[self._tap[firing]]
        row = int(self._row[firing])
        arrays = [
            column[row] if isinstance(column, list) else column[row, ...] for column in self._columns[self._tap[firing]]
        ]
        coordinates = tap.coordinates_of(arrays)
        return Event(
            site=tap.site,
            seq=position,
            occurrence=int(self._occurrence[firing]),
            time_ns=int(self._time[firing]),
            step=tap.nesting.step(int(self._ordinal[firing])),
            mesh_coords=dict(zip(tap.nesting.axes, coordinates, strict=True)),
            device=tap.nesting.device(coordinates),
            lane=lane,
            call=int(self._call[firing]),
            values=tap.values_of(arrays, lane),
            tap=tap,
        )

    def columns(self, start: int, stop: int) -> Columns:
        """Events `start .. stop - 1` as columns."""
        events = np.arange(start - self.first, stop - self.first)
        firing = np.searchsorted(self._starts, events, side="right") - 1
        numbers = self._tap[firing]
        lane = np.full(len(events), -1)
        for number, tap in enumerate(self.taps):
            if tap.lanes:
                mine = numbers == number
                lane[mine] = _flat_lanes(tap)[(events - self._starts[firing])[mine]]
        return Columns(
            first=start,
            site=np.array([tap.site.id for tap in self.taps], np.int64)[numbers],
            time_ns=self._time[firing],
            occurrence=self._occurrence[firing],
            lane=lane,
            call=self._call[firing],
        )

    def numbers(self, start: int, stop: int) -> Iterator[tuple[Tap, int, np.ndarray, np.ndarray]]:
        """The scalar values of events `start .. stop - 1`: for each tap and value, positions int64[n] and values [n]."""
        for number, tap in enumerate(self.taps):
            if not tap.scalars:
                continue
            firings = np.flatnonzero(self._tap == number)
            positions = (self._starts[firings][:, None] + np.arange(tap.size) + self.first).ravel()
            chosen = (positions >= start) & (positions < stop)
            if not chosen.any():
                continue
            for value in tap.scalars:
                column = np.asarray(self._columns[number][value])
                yield tap, value, positions[chosen], _by_event(tap, value, column).ravel()[chosen]

    def stacked(
        self, site_id: int, value: int, start: int, stop: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Value `value` of a site over events `start .. stop - 1`: positions int64[n], occurrences int64[n], [n, ...]."""
        found = []
        require_one_shape({tap.shapes[value] for tap in self.taps if tap.site.id == site_id})
        for number, tap in enumerate(self.taps):
            if tap.site.id != site_id:
                continue
            firings = np.flatnonzero(self._tap == number)
            positions = (self._starts[firings][:, None] + np.arange(tap.size) + self.first).ravel()
            chosen = (positions >= start) & (positions < stop)
            values = _by_event(tap, value, np.asarray(self._columns[number][value]))
            values = values.reshape(len(positions), *tap.shapes[value])
            found.append((positions[chosen], np.repeat(self._occurrence[firings], tap.size)[chosen], values[chosen]))
        if not found:
            return None
        positions, occurrences, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.argsort(positions, kind="stable")
        return positions[order], occurrences[order], values[order]

    def _firing_at(self, position: int) -> int:
        return int(np.searchsorted(self._starts, position - self.first))

    def _locate(self, position: int) -> tuple[int, tuple[int, ...]]:
        firing = int(np.searchsorted(self._starts, position - self.first, side="right")) - 1
        tap = self.taps[self._tap[firing]]
        return firing, tap.lane_order[position - self.first - int(self._starts[firing])]


def require_one_shape(shapes: set[tuple[int, ...]]) -> None:
    """Refuse to stack values of several shapes.

    Raises:
      ValueError: there are several.
    """
    if len(shapes) > 1:
        msg = f"its values have different shapes: {', '.join(map(str, sorted(shapes)))}"
        raise ValueError(msg)


def _column(tap: Tap, arrays: list[np.ndarray]) -> Column:
    if tap.nbytes > LARGE or not arrays:
        return arrays
    try:
        # Ten times faster than np.stack for scalars.
        joined = np.frombuffer(b"".join(cast("list[memoryview]", arrays)), arrays[0].dtype)
    except (BufferError, TypeError, ValueError):  # bfloat16 and its like have no buffer; others are not contiguous.
        return np.stack(arrays)
    return joined.reshape(len(arrays), *arrays[0].shape)


def _flat_lanes(tap: Tap) -> np.ndarray:
    """For each event of a firing, in JAX's order, the row-major index of its lane."""
    return np.arange(tap.size).reshape(tap.lanes).T.ravel()


def _by_event(tap: Tap, value: int, column: np.ndarray) -> np.ndarray:
    """`[firings, *lanes that the value has, *shape]` -> `[firings, events of a firing, *shape]`."""
    if not tap.lanes:
        return column[:, None]
    axes = [size if present else 1 for size, present in zip(tap.lanes, tap.mapped[value], strict=True)]
    shape = tap.shapes[value]
    full = np.broadcast_to(column.reshape(len(column), *axes, *shape), (len(column), *tap.lanes, *shape))
    lane_axes = range(1, 1 + len(tap.lanes))
    ordered = full.transpose(0, *reversed(lane_axes), *range(1 + len(tap.lanes), full.ndim))
    return ordered.reshape(len(column), tap.size, *shape)
