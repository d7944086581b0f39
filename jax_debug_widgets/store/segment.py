"""A run of firings in arrival order, their numbers in columns, so that a million scalars are tens of megabytes.

It has more than 300 lines because all that reads the columns of a segment knows how they are laid out.
"""

from __future__ import annotations

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
"""Bytes; firings above it are kept as the arrays they came in, below it they are copied into one column a site."""

OVERHEAD = 56
"""Bytes that a firing costs besides its values: its row in the columns below."""


class Segment:
    """Firings that arrived one after the other. Not changed once made."""

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
        for number, tap in enumerate(self.taps):
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
        """Position after the last event."""
        return self.first + int(self._starts[-1])

    @property
    def has_arrays(self) -> bool:
        """Whether some of its values are arrays, not numbers and small vectors."""
        return any(tap.nbytes >= COUNTED for tap in self.taps)

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
        times = np.bincount(self._tap[firings], minlength=len(self.taps))
        for number in np.flatnonzero(times).tolist():
            tap, count = self.taps[number], int(times[number])
            counts[tap.site.id] = counts.get(tap.site.id, 0) + count * tap.size
        return counts

    def event(self, position: int) -> Event:
        """The event at this position of the run."""
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
        """The events at these positions: for each tap that has some, their positions and the values of each."""
        firings = np.searchsorted(self._starts, positions - self.first, side="right") - 1
        within = (positions - self.first - self._starts[firings]).tolist()
        numbers = self._tap[firings]
        for number in np.unique(numbers).tolist():
            tap, mine = self.taps[number], np.flatnonzero(numbers == number).tolist()
            values = [tap.values_of(self._arrays(int(firings[one])), tap.lane_order[within[one]]) for one in mine]
            yield tap, positions[mine].tolist(), values

    def columns(self, start: int, stop: int) -> Columns:
        """Events `start .. stop - 1` as columns."""
        return self._table(np.arange(start - self.first, stop - self.first))

    def columns_of(self, site_id: int, start: int, stop: int) -> tuple[np.ndarray, Columns]:
        """The events of one site in `start .. stop - 1`: their positions, int64[n], and their columns."""
        firings = np.flatnonzero(np.array([tap.site.id == site_id for tap in self.taps])[self._tap])
        most = max((tap.size for tap in self.taps if tap.site.id == site_id), default=1)
        events = self._starts[firings][:, None] + np.arange(most)
        events = events[events < self._starts[firings + 1][:, None]]
        events = events[(events >= start - self.first) & (events < stop - self.first)]
        return events + self.first, self._table(events)

    def _table(self, events: np.ndarray) -> Columns:
        """Events as columns: those at these places of the segment, int64[n], ascending."""
        firing = np.searchsorted(self._starts, events, side="right") - 1
        numbers = self._tap[firing]
        lane, step, inner, device = (np.full(len(events), -1) for _ in range(4))
        phantom = np.zeros(len(events), bool)
        for number, tap in enumerate(self.taps):
            mine = np.flatnonzero(numbers == number)
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
        """Site id -> how many of its events are phantoms, for sites that may have some."""
        counts: dict[int, int] = {}
        for number, tap in enumerate(self.taps):
            if (phantoms := self._phantoms(number)) is not None:
                counts[tap.site.id] = counts.get(tap.site.id, 0) + int(phantoms.sum())
        return counts

    def numbers(self, start: int, stop: int) -> Iterator[tuple[Tap, int, np.ndarray, np.ndarray]]:
        """The numbers to plot of events `start .. stop - 1`: for each tap and value, positions int64[n], values [n, elements].

        Phantoms are left out.
        """
        for number, tap in enumerate(self.taps):
            if not tap.plotted:
                continue
            firings = np.flatnonzero(self._tap == number)
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
        """Site id -> how many numbers are NaN, how many are infinite, and the position of the first event with one.

        Phantoms are left out.
        """
        found: dict[int, tuple[int, int, int]] = {}
        # Nearly always all is finite, and to ask once is less than to ask of each column where there are hundreds.
        inexact = [self._columns[number][value] for number, tap in enumerate(self.taps) for value in tap.inexact]
        together = [one for one in inexact if isinstance(one, np.ndarray) and one.dtype.kind == "f"]
        if len(together) == len(inexact) and (not together or np.isfinite(np.concatenate(together, axis=None)).all()):
            return found
        for number, tap in enumerate(self.taps):
            firings = np.flatnonzero(self._tap == number)
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
        """The number of the first event of a firing whose value is not finite."""
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
        """Events `start .. stop - 1`: for each tap that has some, their positions int64[n], and each value of them all."""
        for number, tap in enumerate(self.taps):
            firings = np.flatnonzero(self._tap == number)
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
        """The firings of events `start .. stop - 1`, both at the border of one, by tap, as they were handed over.

        Yields:
          The tap; the position of the first event of each firing, int64[n]; their ordinals, int64[n], see `Ordinals`; and of
          each array that it hands over, that of each firing.
        """
        first, last = self._firing_at(start), self._firing_at(stop)
        for number, tap in enumerate(self.taps):
            firings = np.flatnonzero(self._tap == number)
            rows = slice(*np.searchsorted(firings, (first, last)).tolist())
            if rows.start < rows.stop:
                own = firings[rows]
                columns = [column[rows] for column in self._columns[number]]
                yield tap, self.first + self._starts[own], self._ordinal[own], columns

    def stacked(
        self, site_id: int, value: int, start: int, stop: int, *, phantoms: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Value `value` of a site over events `start .. stop - 1`: positions int64[n], occurrences int64[n], [n, ...].

        Phantoms are among them if `phantoms`.
        """
        found = []
        require_one_shape({tap.shapes[value] for tap in self.taps if tap.site.id == site_id})
        for number, tap in enumerate(self.taps):
            if tap.site.id != site_id:
                continue
            firings = np.flatnonzero(self._tap == number)
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

    def _phantoms(self, number: int) -> np.ndarray | None:
        """bool[firings, events of a firing] of a tap: which are phantoms; None where none can be."""
        tap = self.taps[number]
        if tap.guard is None:
            return None
        there = np.asarray(self._columns[number][len(tap.shapes)])
        return ~laid_out(tap, tap.guard, (), there)

    def _arrays(self, firing: int) -> list[np.ndarray]:
        """The arrays that a firing has handed over."""
        row, columns = int(self._row[firing]), self._columns[self._tap[firing]]
        return [column[row] if isinstance(column, list) else column[row, ...] for column in columns]

    def _firing_at(self, position: int) -> int:
        return int(np.searchsorted(self._starts, position - self.first))

    def _locate(self, position: int) -> tuple[int, tuple[int, ...]]:
        firing = int(np.searchsorted(self._starts, position - self.first, side="right")) - 1
        tap = self.taps[self._tap[firing]]
        return firing, tap.lane_order[position - self.first - int(self._starts[firing])]


def _kept(tap: Tap, value: int, column: Column, chosen: np.ndarray) -> Column:
    """One value of the events that are `chosen`, bool[events]; large ones are not copied."""
    if isinstance(column, list):
        return list(itertools.compress(column, chosen.tolist()))
    return by_event(tap, value, np.asarray(column)).reshape(len(chosen), *tap.shapes[value])[chosen]
