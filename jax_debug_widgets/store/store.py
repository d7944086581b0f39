"""The bounded history of one run."""

from __future__ import annotations

import bisect
import threading
from dataclasses import dataclass

import numpy as np

from jax_debug_widgets.events import CallSite, Event, Lot, Tap
from jax_debug_widgets.store.ordinals import Ordinals
from jax_debug_widgets.store.segment import LARGE, Columns, Segment, require_one_shape

_SEGMENT_FIRINGS = 4096
_SEGMENT_BYTES = 1 << 20
"""A segment is let go of as a whole, so these bound how much longer than the budget says something is kept."""


@dataclass(frozen=True)
class Budget:
    """How much of a run is kept; the oldest goes first.

    Attributes:
      events: at most so many events.
      nbytes: at most so many bytes of values and bookkeeping.
    """

    events: int = 2_000_000
    nbytes: int = 256 << 20

    def __post_init__(self) -> None:
        if self.events < 1 or self.nbytes < 1:
            msg = f"a budget must be positive, got {self.events} events and {self.nbytes} bytes"
            raise ValueError(msg)


class Store:
    """Events of one run by position: the n-th that arrived, whether it is still kept or not."""

    def __init__(self, budget: Budget, origin_ns: int) -> None:
        self.budget = budget
        self._origin_ns = origin_ns
        self._lock = threading.Lock()
        self._segments: list[Segment] = []
        self._oldest = 0
        self._count = 0
        self._nbytes = 0
        self._fired: dict[int, int] = {}
        self._ordinals = Ordinals()
        self._taps: dict[int, Tap] = {}
        self._seen: dict[int, int] = {}
        self._dropped: dict[int, int] = {}

    def ingest(self, lot: Lot, calls: np.ndarray) -> None:
        """Take in firings, and the id of the call that each belongs to (-1 unknown): int64, one a firing."""
        with self._lock:
            start = 0
            for stop in _cuts(lot):
                self._append(lot.part(start, stop), calls[start:stop])
                start = stop
            self._evict()

    def __len__(self) -> int:
        """How many events have arrived, dropped ones too."""
        return self._count

    @property
    def oldest(self) -> int:
        """Position of the first event that is still kept."""
        return self._oldest

    @property
    def nbytes(self) -> int:
        """Bytes of values and bookkeeping that are kept."""
        return self._nbytes

    def sites(self) -> list[CallSite]:
        """The sites that have fired, in the order of their first event."""
        with self._lock:
            return [tap.site for tap in self._taps.values()]

    def latest_taps(self) -> dict[int, Tap]:
        """Site id -> the tap that reported its newest event, in the order of the sites' first event."""
        with self._lock:
            return dict(self._taps)

    def seen_by_site(self) -> dict[int, int]:
        """Site id -> how many events of it have arrived."""
        with self._lock:
            return dict(self._seen)

    def dropped_by_site(self) -> dict[int, int]:
        """Site id -> how many of its events are no longer kept."""
        with self._lock:
            return dict(self._dropped)

    def event(self, position: int) -> Event:
        """The event at this position.

        Raises:
          IndexError: it has not arrived, or is no longer kept.
        """
        with self._lock:
            if not self._oldest <= position < self._count:
                msg = f"event {position} is not kept; {self._oldest} to {self._count - 1} are"
                raise IndexError(msg)
            segment = self._segments[self._segment_at(position)]
        return segment.event(position)

    def last(self, count: int) -> list[Event]:
        """The newest `count` events that are kept, oldest first."""
        return self.range(max(self._count - count, 0), self._count)

    def range(self, start: int, stop: int) -> list[Event]:
        """Events `start .. stop - 1`, those of them that are kept."""
        return [
            segment.event(position)
            for segment, first, end in self._between(start, stop)
            for position in range(first, end)
        ]

    def columns(self, start: int, stop: int) -> list[Columns]:
        """Events `start .. stop - 1`, those of them that are kept, as columns; consecutive pieces."""
        return [segment.columns(first, end) for segment, first, end in self._between(start, stop)]

    def numbers(self, start: int, stop: int) -> list[tuple[Tap, int, np.ndarray, np.ndarray]]:
        """The scalar values among these events, see `Segment.numbers`."""
        return [part for segment, first, end in self._between(start, stop) for part in segment.numbers(first, end)]

    def series(self, site_id: int, value: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One value of a site over all events that are kept: positions int64[n], occurrences int64[n], values [n, ...].

        Raises:
          ValueError: its shape is not the same in all of them.
        """
        parts = [segment.stacked(site_id, value, first, end) for segment, first, end in self._between(0, self._count)]
        kept = [part for part in parts if part is not None]
        if not kept:
            empty = np.zeros(0, np.int64)
            return empty, empty, np.zeros(0)
        positions, occurrences, values = zip(*kept, strict=True)
        require_one_shape({part.shape[1:] for part in values})
        return np.concatenate(positions), np.concatenate(occurrences), np.concatenate(values)

    def firings(self, site_id: int) -> tuple[np.ndarray, np.ndarray]:
        """The events of a site that are kept: positions int64[n], occurrences int64[n]."""
        pieces = self.columns(0, self._count)
        mine = [np.flatnonzero(piece.site == site_id) for piece in pieces]
        positions = [piece.first + chosen for piece, chosen in zip(pieces, mine, strict=True)]
        occurrences = [piece.occurrence[chosen] for piece, chosen in zip(pieces, mine, strict=True)]
        none = np.zeros(0, np.int64)
        return np.concatenate([none, *positions]), np.concatenate([none, *occurrences])

    def _between(self, start: int, stop: int) -> list[tuple[Segment, int, int]]:
        with self._lock:
            start, stop = max(start, self._oldest), min(stop, self._count)
            if start >= stop:
                return []
            chosen = self._segments[self._segment_at(start) : self._segment_at(stop - 1) + 1]
            return [(segment, max(start, segment.first), min(stop, segment.stop)) for segment in chosen]

    def _segment_at(self, position: int) -> int:
        return bisect.bisect_right(self._segments, position, key=lambda segment: segment.first) - 1

    def _append(self, lot: Lot, calls: np.ndarray) -> None:
        occurrences, ordinals = self._occurrences(lot), self._ordinals.of(lot, calls)
        segment = Segment(self._count, lot, self._origin_ns, calls, occurrences, ordinals)
        for tap in segment.taps:
            self._taps[tap.site.id] = tap
        for site, count in segment.sites_between(segment.first, segment.stop).items():
            self._seen[site] = self._seen.get(site, 0) + count
        self._segments.append(segment)
        self._count = segment.stop
        self._nbytes += segment.bytes_from(segment.first)

    def _occurrences(self, lot: Lot) -> np.ndarray:
        """For each firing, how many times its site had fired before."""
        site = lot.of_each([tap.site.id for tap in lot.taps])
        occurrences = np.empty(len(lot), np.int64)
        for number in {tap.site.id for tap in lot.taps}:
            mine = np.flatnonzero(site == number)
            before = self._fired.get(number, 0)
            occurrences[mine] = np.arange(before, before + len(mine))
            self._fired[number] = before + len(mine)
        return occurrences

    def _evict(self) -> None:
        while self._segments:
            too_many = max(self._count - self._oldest - self.budget.events, 0)
            too_big = max(self._nbytes - self.budget.nbytes, 0)
            if not (too_many or too_big):
                return
            segment = self._segments[0]
            keep_from = segment.position_to_free(self._oldest, too_many, too_big)
            for site, count in segment.sites_between(self._oldest, keep_from).items():
                self._dropped[site] = self._dropped.get(site, 0) + count
            self._nbytes -= segment.bytes_from(self._oldest) - segment.bytes_from(keep_from)
            self._oldest = keep_from
            if keep_from >= segment.stop:
                self._segments.pop(0)


def _cuts(lot: Lot) -> list[int]:
    """Where to end each segment; a large firing has one of its own, so that it can be let go of by itself."""
    if not len(lot):
        return []
    nbytes = lot.of_each([tap.nbytes for tap in lot.taps])
    group = np.arange(len(lot)) // _SEGMENT_FIRINGS + np.cumsum(nbytes) // _SEGMENT_BYTES
    large = np.flatnonzero(nbytes > LARGE)
    borders = np.concatenate([np.flatnonzero(np.diff(group)) + 1, large, large + 1, [len(lot)]])
    return [border for border in np.unique(borders).tolist() if border]
