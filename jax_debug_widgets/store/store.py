"""Keep the bounded history of one run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from jax_debug_widgets.events import COUNTED, CallSite, Event, FiringBatch, NonFinite, Tap
from jax_debug_widgets.store.budget import Budget
from jax_debug_widgets.store.columns import Columns
from jax_debug_widgets.store.cuts import cuts
from jax_debug_widgets.store.devices import Devices
from jax_debug_widgets.store.history import SiteHistory
from jax_debug_widgets.store.occurrences import Occurrences
from jax_debug_widgets.store.ordinals import Ordinals
from jax_debug_widgets.store.segment import Segment
from jax_debug_widgets.store.segment_list import SegmentList
from jax_debug_widgets.store.site_types import SiteTypes
from jax_debug_widgets.store.tally import CountsBySite


class SegmentSlice(NamedTuple):
    """Events `first .. stop - 1` of a run: whole firings, all in one segment."""

    segment: Segment
    first: int
    stop: int

    @property
    def nbytes(self) -> int:
        """The bytes of values and bookkeeping from `first` to the end of the segment."""
        return self.segment.bytes_from(self.first)


class Store:
    """Holds the events of one run by position: the number of events that arrived before, kept or not. Safe from any thread.

    Attributes:
      history: reads the kept events of each site in the order of its steps.
      released: the number of events that `release` has dropped.
    """

    def __init__(self, budget: Budget, origin_ns: int) -> None:
        self.budget = budget
        self._origin_ns = origin_ns
        self._lock = threading.Lock()
        self._types = SiteTypes()
        self._kept = SegmentList(self._types)
        self.released = self._largest = 0
        self._follower: Callable[[SegmentSlice], None] | None = None
        self._ordinals, self._occurrences = Ordinals(), Occurrences()
        self._devices = Devices()
        self._tally = CountsBySite()
        self.history = SiteHistory(self._lock, self._kept, self._types)

    def ingest(self, batch: FiringBatch, calls: np.ndarray, executions: np.ndarray | None = None) -> None:
        """Take in firings, with the id of each firing's call and the number of its site's execution.

        Both are int64[firings], -1 if it is not known; see `Columns`.
        """
        executions = np.full(len(batch), -1) if executions is None else executions
        with self._lock:
            ordinals = self._ordinals.of(batch, calls)
            occurrences = self._occurrences.of(batch, ordinals)
            largest = max((tap.nbytes for tap in batch.taps), default=0)
            if largest >= COUNTED:
                self._largest = max(self._largest, largest)
            if (lost := batch.lost) is not None:
                self._tally.lose(batch, lost)
                kept = ~lost
                batch, calls, executions = batch.where(kept), calls[kept], executions[kept]
                occurrences, ordinals = occurrences[kept], ordinals[kept]
            self._take_in(batch, calls, executions, occurrences, ordinals)

    def restore(
        self,
        batch: FiringBatch,
        calls: np.ndarray,
        executions: np.ndarray,
        occurrences: np.ndarray,
        ordinals: np.ndarray,
    ) -> None:
        """Take in firings of another store, with the occurrences and ordinals that the other store counted, int64[firings]."""
        with self._lock:
            self._largest = max(self._largest, *(tap.nbytes for tap in batch.taps), 0)
            self._take_in(batch, calls, executions, occurrences, ordinals)

    def begin_at(self, position: int, dropped: Mapping[int, int]) -> None:
        """Begin at a position, before `restore`; `dropped` is site id -> the number of the site's earlier events."""
        with self._lock:
            self._kept.count = self._kept.oldest = position
            self._tally.begin(dropped, position)

    def skip_to(self, position: int) -> None:
        """Begin at a position, before `restore`; the events before it are not counted."""
        with self._lock:
            self._kept.count = self._kept.oldest = position

    def miss(self, count: int) -> None:
        """Count events that are missing between those that were restored and those that come next."""
        with self._lock:
            self._tally.lost += count

    def follow(self, follower: Callable[[SegmentSlice], None] | None) -> None:
        """Call `follower` with the kept events now, and with new ones as they come; it must return at once. None ends this."""
        with self._lock:
            self._follower = follower
            for piece in self._kept.between(0, self._kept.count) if follower is not None else ():
                follower(SegmentSlice(*piece))  # pyright: ignore[reportOptionalCall] - not None here.

    def _take_in(
        self,
        batch: FiringBatch,
        calls: np.ndarray,
        executions: np.ndarray,
        occurrences: np.ndarray,
        ordinals: np.ndarray,
    ) -> None:
        start = 0
        for stop in cuts(batch):
            rows = slice(start, stop)
            self._append(
                Segment(
                    self._kept.count,
                    batch.part(start, stop),
                    self._origin_ns,
                    calls[rows],
                    executions[rows],
                    occurrences[rows],
                    ordinals[rows],
                    self._devices,
                    self._types,
                )
            )
            start = stop
        self._evict()

    def __len__(self) -> int:
        """Return how many events have arrived, dropped ones included."""
        return self._kept.count

    @property
    def oldest(self) -> int:
        """The position of the first event that is kept."""
        return self._kept.oldest

    @property
    def nbytes(self) -> int:
        """The bytes of kept values and bookkeeping."""
        return self._kept.nbytes

    @property
    def free(self) -> int:
        """The bytes that values may take while they wait in the inbox."""
        return self.budget.for_waiting(self._kept.nbytes)

    @property
    def dropped(self) -> int:
        """The number of dropped events: the oldest ones, and those that had no room in the inbox."""
        return self._kept.oldest + self._tally.lost

    def release(self, nbytes: int, *, arrays: bool) -> int:
        """Drop the oldest events of an ended run until `nbytes` are freed. Return the freed bytes.

        Args:
          arrays: whether to drop nothing after the last array.
        """
        with self._lock:
            kept = self._kept
            before, oldest = kept.nbytes, kept.oldest
            self._tally.drop(kept.let_go(0, nbytes, kept.end_of_arrays if arrays else None))
            self.released += kept.oldest - oldest
            return before - kept.nbytes

    @property
    def devices(self) -> list[str]:
        """The names of the devices that have fired, see `Columns.device`. New devices come at the end."""
        with self._lock:
            return self._devices.names

    def sites(self) -> list[CallSite]:
        """Return the sites that have fired, in the order of their first event."""
        with self._lock:
            return [tap.site for tap in self._tally.taps.values()]

    def typed_sites(self) -> list[CallSite]:
        """Return the sites that have fired; a watched value comes once for each of its shapes and dtypes."""
        with self._lock:
            order = {number: place for place, number in enumerate(self._tally.taps)}
            taps = sorted(self._types.taps.items(), key=lambda item: order[item[0][0]])
        typed = {
            (site.id, site.watch and (site.watch.shape, site.watch.dtype)): site for site in (t.site for _, t in taps)
        }
        return list(typed.values())

    def latest_taps(self) -> dict[int, Tap]:
        """Return site id -> the tap of the site's newest event, in the order of the sites' first event."""
        with self._lock:
            return dict(self._tally.taps)

    def taps_by_type(self) -> dict[tuple[int, int], Tap]:
        """Return site id and number of a type (see `Columns.type`) -> the newest tap of this type."""
        with self._lock:
            return dict(self._types.taps)

    def seen_by_site(self) -> dict[int, int]:
        """Return site id -> how many events of the site have arrived."""
        with self._lock:
            return dict(self._tally.seen)

    def phantoms_by_site(self) -> dict[int, int]:
        """Return site id -> how many of the site's events were phantoms, for sites that may have some."""
        with self._lock:
            return dict(self._tally.phantoms)

    def doubt(self, site_id: int, last_call: float) -> None:
        """Note that some firings of a site are not recorded, up to and including this call (`math.inf`: in all calls)."""
        with self._lock:
            self._ordinals.doubtful[site_id] = last_call

    def sample(self, site_id: int, every: int | None) -> None:
        """Note that one firing of `every` of a site is recorded from now on; None for the setting of the capture."""
        with self._lock:
            self._occurrences.sample(site_id, every)

    def is_doubtful(self, site_id: int, call: int) -> bool:
        """Whether some firings of a site in this call may not have been recorded."""
        with self._lock:
            return call <= self._ordinals.doubtful.get(site_id, -2)

    def dropped_by_site(self) -> dict[int, int]:
        """Return site id -> how many of the site's events are no longer kept."""
        with self._lock:
            return dict(self._tally.dropped)

    def event(self, position: int) -> Event:
        """Return the event at this position.

        Raises:
          IndexError: the event has not arrived, or is no longer kept.
        """
        with self._lock:
            if not self._kept.oldest <= position < self._kept.count:
                msg = f"event {position} is not kept; {self._kept.oldest} to {self._kept.count - 1} are"
                raise IndexError(msg)
            segment = self._kept.at(position)
        return segment.event(position)

    def values_at(self, positions: np.ndarray) -> Iterator[tuple[Tap, list[int], list[tuple[np.ndarray, ...]]]]:
        """Yield the kept events among these positions, int64[n] ascending; see `Segment.values_at`."""
        if len(positions):
            for segment, first, end in self._between(int(positions[0]), int(positions[-1]) + 1):
                yield from segment.values_at(positions[(positions >= first) & (positions < end)])

    def last(self, count: int) -> list[Event]:
        """Return the newest `count` kept events, oldest first."""
        return self.range(max(self._kept.count - count, 0), self._kept.count)

    def range(self, start: int, stop: int) -> list[Event]:
        """Return the kept events of `start .. stop - 1`."""
        return [
            segment.event(position)
            for segment, first, end in self._between(start, stop)
            for position in range(first, end)
        ]

    def columns(self, start: int, stop: int) -> list[Columns]:
        """Return the kept events of `start .. stop - 1` as columns, in consecutive pieces."""
        return [segment.columns(first, end) for segment, first, end in self._between(start, stop)]

    def numbers(self, start: int, stop: int) -> list[tuple[Tap, int, np.ndarray, np.ndarray]]:
        """Return the numbers and small vectors of these events, see `Segment.numbers`."""
        return [part for segment, first, end in self._between(start, stop) for part in segment.numbers(first, end)]

    def kept(self) -> list[SegmentSlice]:
        """Return all kept events, oldest first, in pieces that do not change any more."""
        return [SegmentSlice(*one) for one in self._between(0, self._kept.count)]

    def nonfinite(self) -> dict[int, NonFinite]:
        """Return site id -> the values that were not finite, dropped events included; only sites that had some."""
        with self._lock:
            return dict(self._tally.nonfinite)

    def _between(self, start: int, stop: int) -> list[tuple[Segment, int, int]]:
        with self._lock:
            return self._kept.between(start, stop)

    def _append(self, segment: Segment) -> None:
        self._tally.add(segment)
        self._kept.append(segment)
        if self._follower is not None:
            self._follower(SegmentSlice(segment, segment.first, segment.stop))

    def _evict(self) -> None:
        kept = self._kept
        too_many = kept.count - kept.oldest - self.budget.events
        self._tally.drop(kept.let_go(too_many, kept.nbytes - self.budget.for_kept(self._largest)))
