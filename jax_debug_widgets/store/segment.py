"""Keep consecutive firings in arrival order, their values in columns, so that a million scalars take tens of megabytes.

The file has more than 300 lines because all code that reads a segment's columns must know their layout.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

import numpy as np

from jax_debug_widgets.events import COUNTED, Column, Event, FiringBatch, Tap, joined
from jax_debug_widgets.store.columns import Columns
from jax_debug_widgets.store.devices import Devices
from jax_debug_widgets.store.lanes import by_event, flat_lanes, laid_out
from jax_debug_widgets.store.nonfinite import odd_among, odd_numbers, pieces
from jax_debug_widgets.store.site_types import SiteTypes
from jax_debug_widgets.store.stacking import one_after_the_other, require_one_shape

LARGE = 1 << 16
"""Firings of more bytes are kept as the arrays that they came in; smaller ones are copied into one column a tap."""

OVERHEAD = 60
"""The bytes that a firing takes besides its values: its row in the columns below."""


class Segment:
    """Holds firings that arrived one after the other. It does not change after it is made."""

    def __init__(
        self,
        first: int,
        batch: FiringBatch,
        origin_ns: int,
        calls: np.ndarray,
        executions: np.ndarray,
        occurrences: np.ndarray,
        ordinals: np.ndarray,
        devices: Devices,
        types: SiteTypes,
    ) -> None:
        self.first = first
        self.taps = batch.taps
        self._tap = batch.tap
        self._time = batch.times_ns - origin_ns
        self._call, self._execution = calls, executions
        self._occurrence, self._ordinal = occurrences, ordinals
        self._row = np.empty(len(batch), np.int64)
        self._columns: list[list[Column]] = []
        self._devices = [devices.of(tap) for tap in self.taps]
        self._types = np.array([types.of(tap) for tap in self.taps], np.int64)
        self._of_site: dict[int, list[int]] = {}
        for number, tap in enumerate(self.taps):
            self._of_site.setdefault(tap.site.id, []).append(number)
            mine = batch.firings_of(number)
            self._row[mine] = np.arange(len(mine))
            self._columns.append(
                [
                    column if tap.nbytes > LARGE and isinstance(column, list) else joined(column)
                    for column in batch.columns[number]
                ]
            )
        sizes = batch.of_each([tap.size for tap in self.taps])
        costs = batch.of_each([tap.nbytes + OVERHEAD for tap in self.taps])
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self._bytes = np.concatenate([[0], np.cumsum(costs)])

    @property
    def stop(self) -> int:
        """The position after the last event."""
        return self.first + int(self._starts[-1])

    @property
    def has_arrays(self) -> bool:
        """Whether some values are arrays, and not only numbers and small vectors."""
        return any(tap.nbytes >= COUNTED for tap in self.taps)

    def bytes_from(self, position: int) -> int:
        """Return the bytes of the firings from event `position` on."""
        return int(self._bytes[-1] - self._bytes[self._firing_at(position)])

    def position_to_free(self, position: int, events: int, nbytes: int) -> int:
        """Return the first event to keep (the first of a firing), so that `events` and `nbytes` from `position` on are free."""
        start = self._firing_at(position)
        by_events = np.searchsorted(self._starts, self._starts[start] + events)
        by_bytes = np.searchsorted(self._bytes, self._bytes[start] + nbytes)
        return self.first + int(self._starts[min(max(by_events, by_bytes), len(self._tap))])

    def sites_between(self, start: int, stop: int) -> dict[int, int]:
        """Count the events of each site in `start .. stop - 1`, which must be whole firings: site id -> count."""
        firings = slice(self._firing_at(start), self._firing_at(stop))
        counts: dict[int, int] = {}
        times = np.bincount(self._tap[firings], minlength=len(self.taps))
        for number in np.flatnonzero(times).tolist():
            tap, count = self.taps[number], int(times[number])
            counts[tap.site.id] = counts.get(tap.site.id, 0) + count * tap.size
        return counts

    def event(self, position: int) -> Event:
        """Return the event at this position of the run."""
        firing, lane = self._locate(position)
        tap, arrays = self.taps[self._tap[firing]], self._arrays(firing)
        coordinates = tap.coordinates_of(arrays)
        return Event(
            site=tap.site,
            seq=position,
            occurrence=int(self._occurrence[firing]),
            time_ns=int(self._time[firing]),
            step=tap.step_of(arrays, int(self._ordinal[firing])),
            mesh_coords=dict(zip(tap.nesting.axes, coordinates, strict=True)),
            device=tap.nesting.device(coordinates),
            lane=lane or tap.lane_of(arrays, int(self._ordinal[firing])),
            call=int(self._call[firing]),
            values=tap.values_of(arrays, lane),
            tap=tap,
            phantom=tap.is_phantom(arrays, lane),
        )

    def values_at(self, positions: np.ndarray) -> Iterator[tuple[Tap, list[int], list[tuple[np.ndarray, ...]]]]:
        """Yield the events at these positions, int64[n]: for each tap that has some, their positions and their values."""
        firings = np.searchsorted(self._starts, positions - self.first, side="right") - 1
        within = (positions - self.first - self._starts[firings]).tolist()
        numbers = self._tap[firings]
        for number in np.unique(numbers).tolist():
            tap, mine = self.taps[number], np.flatnonzero(numbers == number).tolist()
            values = [tap.values_of(self._arrays(int(firings[one])), tap.lane_order[within[one]]) for one in mine]
            yield tap, positions[mine].tolist(), values

    def columns(self, start: int, stop: int) -> Columns:
        """Return events `start .. stop - 1` as columns."""
        return self._table(np.arange(start - self.first, stop - self.first))

    def columns_of(self, site_id: int, start: int, stop: int) -> tuple[np.ndarray, Columns]:
        """Return the events of one site in `start .. stop - 1`: their positions, int64[n], and their columns."""
        numbers = self._of_site.get(site_id, [])
        firings = np.sort(np.concatenate([np.zeros(0, np.int64), *map(self._firings_of, numbers)]))
        most = max((self.taps[number].size for number in numbers), default=1)
        events = self._starts[firings]
        if most > 1:
            events = events[:, None] + np.arange(most)
            events = events[events < self._starts[firings + 1][:, None]]
        events = events[(events >= start - self.first) & (events < stop - self.first)]
        return events + self.first, self._table(events)

    def _table(self, events: np.ndarray) -> Columns:
        """Return the events at these places of the segment, int64[n] ascending, as columns."""
        has_one_each = self._starts[-1] == len(self._tap)
        firing = events if has_one_each else np.searchsorted(self._starts, events, side="right") - 1
        numbers = self._tap[firing]
        lane, step, inner, device = (np.full(len(events), -1) for _ in range(4))
        phantom = np.zeros(len(events), bool)
        there = np.flatnonzero(np.bincount(numbers, minlength=1)).tolist()
        for number in there:
            tap, mine = self.taps[number], np.flatnonzero(numbers == number) if len(there) > 1 else slice(None)
            rows, within = self._row[firing[mine]], (events - self._starts[firing])[mine]
            if tap.lanes:
                lane[mine] = flat_lanes(tap)[within]
            elif tap.nesting.lanewise:
                lane[mine] = tap.lanes_of(self._columns[number], rows, self._ordinal[firing[mine]])
            if tap.nesting.loops:
                step[mine], inner[mine] = tap.steps_of(self._columns[number], rows, self._ordinal[firing[mine]])
            if (phantoms := self._phantoms(number)) is not None:
                phantom[mine] = phantoms[rows, within]
            table = self._devices[number]
            if table is not None:
                coordinates = self._columns[number][tap.coordinates]
                device[mine] = table[tuple(np.asarray(axis) for axis in coordinates)][rows]
        return Columns(
            first=self.first + (int(events[0]) if len(events) else 0),
            site=np.array([tap.site.id for tap in self.taps], np.int64)[numbers],
            time_ns=self._time[firing],
            occurrence=self._occurrence[firing],
            lane=lane,
            call=self._call[firing],
            execution=self._execution[firing],
            step=step,
            inner=inner,
            device=device,
            phantom=phantom,
            type=self._types[numbers],
        )

    def phantoms_by_site(self) -> dict[int, int]:
        """Count the phantoms of each site that may have some: site id -> count."""
        counts: dict[int, int] = {}
        for number, tap in enumerate(self.taps):
            if (phantoms := self._phantoms(number)) is not None:
                counts[tap.site.id] = counts.get(tap.site.id, 0) + int(phantoms.sum())
        return counts

    def numbers(self, start: int, stop: int) -> Iterator[tuple[Tap, int, np.ndarray, np.ndarray]]:
        """Yield the numbers to plot of events `start .. stop - 1`, without phantoms.

        Each item is a tap, the index of one of its values, the events' positions int64[n], and the numbers [n, elements].
        """
        for number, tap in enumerate(self.taps):
            if not tap.plotted:
                continue
            firings = self._firings_of(number)
            positions = (self._starts[firings][:, None] + np.arange(tap.size) + self.first).ravel()
            chosen = (positions >= start) & (positions < stop)
            if (phantoms := self._phantoms(number)) is not None:
                chosen &= ~phantoms.ravel()
            if not chosen.any():
                continue
            for value in tap.plotted:
                column = np.asarray(self._columns[number][value])
                values = by_event(tap, value, column).reshape(len(positions), -1)
                yield tap, value, positions[chosen], values[chosen]

    def nonfinite(self) -> dict[int, tuple[int, int, int]]:
        """Return site id -> how many numbers are NaN, how many are infinite, and the position of the first event with one.

        Phantoms do not count.
        """
        found: dict[int, tuple[int, int, int]] = {}
        # Nearly always all is finite. One test of hundreds of columns together is faster than a test of each.
        inexact = [self._columns[number][value] for number, tap in enumerate(self.taps) for value in tap.inexact]
        together = [one for one in inexact if isinstance(one, np.ndarray) and one.dtype.kind == "f"]
        if len(together) == len(inexact) and (not together or np.isfinite(np.concatenate(together, axis=None)).all()):
            return found
        for number, tap in enumerate(self.taps):
            firings = self._firings_of(number)
            phantoms = self._phantoms(number)
            for value in tap.inexact:
                for rows, column in pieces(self._columns[number][value]):
                    nan, inf = odd_numbers(tap, value, column)
                    if phantoms is not None and (nan.any() or inf.any()):
                        nan, inf = odd_among(tap, value, column, ~phantoms[rows])
                    odd = np.flatnonzero(nan + inf)
                    if not len(odd):
                        continue
                    firing = int(firings[rows.start + int(odd[0])])
                    first = self.first + int(self._starts[firing]) + self._first_odd(tap, firing, value)
                    before = found.get(tap.site.id, (0, 0, first))
                    more = int(nan.sum()), int(inf.sum())
                    found[tap.site.id] = (before[0] + more[0], before[1] + more[1], min(before[2], first))
        return found

    def _first_odd(self, tap: Tap, firing: int, value: int) -> int:
        """Return the number of the first event within a firing that has a value that is not finite."""
        if tap.size == 1:
            return 0
        arrays = self._arrays(firing)
        odd = (
            not tap.is_phantom(arrays, lane)
            and np.any(odd_numbers(tap, value, np.asarray(tap.values_of(arrays, lane)[value])[None]))
            for lane in tap.lane_order
        )
        return next((at for at, is_odd in enumerate(odd) if is_odd), 0)

    def values(self, start: int, stop: int) -> Iterator[tuple[Tap, np.ndarray, list[Column]]]:
        """Yield events `start .. stop - 1`: for each tap that has some, the positions int64[n] and a column for each value."""
        for number, tap in enumerate(self.taps):
            firings = self._firings_of(number)
            positions = (self._starts[firings][:, None] + np.arange(tap.size) + self.first).ravel()
            chosen = (positions >= start) & (positions < stop)
            if not chosen.any():
                continue
            columns = self._columns[number][: len(tap.shapes)]
            if tap.lanes and any(isinstance(column, list) for column in columns):
                rows = [self.event(position).values for position in positions[chosen].tolist()]
                yield tap, positions[chosen], [list(column) for column in zip(*rows, strict=True)]
            else:
                yield tap, positions[chosen], [_kept(tap, value, one, chosen) for value, one in enumerate(columns)]

    def firings(self, start: int, stop: int) -> Iterator[tuple[Tap, np.ndarray, np.ndarray, list[Column]]]:
        """Yield the firings of events `start .. stop - 1`, which must be whole firings, by tap, as they were handed over.

        Yields:
          The tap; the position of each firing's first event, int64[n]; the ordinals, int64[n], see `Ordinals`; and a column
          for each array that the tap hands over.
        """
        first, last = self._firing_at(start), self._firing_at(stop)
        for number, tap in enumerate(self.taps):
            firings = self._firings_of(number)
            rows = slice(*np.searchsorted(firings, (first, last)).tolist())
            if rows.start < rows.stop:
                own = firings[rows]
                columns = [column[rows] for column in self._columns[number]]
                yield tap, self.first + self._starts[own], self._ordinal[own], columns

    def stacked(
        self, site_id: int, value: int, start: int, stop: int, *, phantoms: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Return one value of a site over events `start .. stop - 1`, with phantoms if `phantoms`.

        The result is positions int64[n], occurrences int64[n] and values [n, ...].
        """
        found = []
        numbers = self._of_site.get(site_id, [])
        require_one_shape({self.taps[number].shapes[value] for number in numbers})
        for number in numbers:
            tap = self.taps[number]
            firings = self._firings_of(number)
            positions = (self._starts[firings][:, None] + np.arange(tap.size) + self.first).ravel()
            chosen = (positions >= start) & (positions < stop)
            if not phantoms and (marked := self._phantoms(number)) is not None:
                chosen &= ~marked.ravel()
            values = by_event(tap, value, np.asarray(self._columns[number][value]))
            values = values.reshape(len(positions), *tap.shapes[value])
            found.append((positions[chosen], np.repeat(self._occurrence[firings], tap.size)[chosen], values[chosen]))
        if not found:
            return None
        positions, occurrences, values = map(one_after_the_other, zip(*found, strict=True))
        order = np.argsort(positions, kind="stable")
        return positions[order], occurrences[order], values[order]

    def _firings_of(self, number: int) -> np.ndarray:
        """Return the firings of a tap, int64[n] ascending."""
        first, end = self._bounds[number : number + 2]
        return self._order[first:end].astype(np.int64)

    @functools.cached_property
    def _order(self) -> np.ndarray:
        """The firings in the order of their taps, int32[n]; computed when somebody first reads a single tap."""
        return np.argsort(self._tap, kind="stable").astype(np.int32)

    @functools.cached_property
    def _bounds(self) -> list[int]:
        """Where the firings of each tap begin in `_order`, and where the last ones end."""
        return np.searchsorted(self._tap[self._order], np.arange(len(self.taps) + 1)).tolist()

    def _phantoms(self, number: int) -> np.ndarray | None:
        """Return which events of a tap are phantoms, bool[firings, events of a firing]; None if the tap has no phantoms."""
        tap = self.taps[number]
        if tap.guard is None:
            return None
        there = np.asarray(self._columns[number][len(tap.shapes)])
        return ~laid_out(tap, tap.guard, (), there)

    def _arrays(self, firing: int) -> list[np.ndarray]:
        """Return the arrays that a firing handed over."""
        row, columns = int(self._row[firing]), self._columns[self._tap[firing]]
        return [column[row] if isinstance(column, list) else column[row, ...] for column in columns]

    def _firing_at(self, position: int) -> int:
        return int(np.searchsorted(self._starts, position - self.first))

    def _locate(self, position: int) -> tuple[int, tuple[int, ...]]:
        firing = int(np.searchsorted(self._starts, position - self.first, side="right")) - 1
        tap = self.taps[self._tap[firing]]
        return firing, tap.lane_order[position - self.first - int(self._starts[firing])]


def _kept(tap: Tap, value: int, column: Column, chosen: np.ndarray) -> Column:
    """Return one value of the `chosen` events, bool[events]. Large values are not copied."""
    if isinstance(column, list):
        return list(itertools.compress(column, chosen.tolist()))
    return by_event(tap, value, np.asarray(column)).reshape(len(chosen), *tap.shapes[value])[chosen]
