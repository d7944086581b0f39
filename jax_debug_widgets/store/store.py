"""The bounded history of one run."""

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
    """Events `first .. stop - 1` of a run, whole firings, all in one segment."""

    segment: Segment
    first: int
    stop: int

    @property
    def nbytes(self) -> int:
        """Bytes of values and bookkeeping."""
        return self.segment.bytes_from(self.first)


class Store:
    """Events of one run by position: the n-th that arrived, whether it is still kept or not.

    Attributes:
      history: the kept events of each site, in the order of its steps.
      released: how many events `release` has let go of.
    """

    def __init__(self, budget: Budget, origin_ns: int) -> None:
        self.budget = budget
        self._origin_ns = origin_ns
        self._lock = threading.Lock()
        self._kept = SegmentList()
        self.released = 0
        self._told: Callable[[SegmentSlice], None] | None = None
        self._largest = 0
        self._ordinals = Ordinals()
        self._occurrences = Occurrences()
        self._devices = Devices()
        self._types = SiteTypes()
        self._tally = CountsBySite()
        self.history = SiteHistory(self._lock, self._kept, self._types)

    def ingest(self, batch: FiringBatch, calls: np.ndarray, executions: np.ndarray | None = None) -> None:
        """Take in firings, the id of the call that each belongs to, and the number of its execution of its site.

        Both are int64, one a firing, -1 where it is not known; see `Columns`.
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
        """Take in firings that another store had: how often each tap had fired before is not counted again."""
        with self._lock:
            self._largest = max(self._largest, *(tap.nbytes for tap in batch.taps), 0)
            self._take_in(batch, calls, executions, occurrences, ordinals)

    def begin_at(self, position: int, dropped: Mapping[int, int]) -> None:
        """Before `restore`: of these sites so many events are no longer kept, and the first that is has this position."""
        with self._lock:
            self._kept.count = self._kept.oldest = position
            self._tally.begin(dropped, position)

    def skip_to(self, position: int) -> None:
        """Before `restore`: the events before this position are not taken in."""
        with self._lock:
            self._kept.count = self._kept.oldest = position

    def tell(self, told: Callable[[SegmentSlice], None] | None) -> None:
        """Hand the events that are kept, and from now on those that come, to `told`, which returns at once; None ends it."""
        with self._lock:
            self._told = told
            for piece in self._kept.between(0, self._kept.count) if told is not None else ():
                told(SegmentSlice(*piece))  # pyright: ignore[reportOptionalCall] - not None here.

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
        """How many events have arrived, dropped ones too."""
        return self._kept.count

    @property
    def oldest(self) -> int:
        """Position of the first event that is still kept."""
        return self._kept.oldest

    @property
    def nbytes(self) -> int:
        """Bytes of values and bookkeeping that are kept."""
        return self._kept.nbytes

    @property
    def free(self) -> int:
        """Bytes that values may take up which have not been taken in."""
        return self.budget.for_waiting(self._kept.nbytes)

    @property
    def dropped(self) -> int:
        """How many events were let go of: the oldest, and those whose values could not wait to be taken in."""
        return self._kept.oldest + self._tally.lost

    def release(self, nbytes: int, *, arrays: bool) -> int:
        """Let go of the oldest events of a run that is over, until so many bytes are free; how many are.

        Args:
          arrays: no further than to its last array.
        """
        with self._lock:
            kept = self._kept
            before, oldest = kept.nbytes, kept.oldest
            self._tally.drop(kept.let_go(0, nbytes, kept.end_of_arrays if arrays else None))
            self.released += kept.oldest - oldest
            return before - kept.nbytes

    @property
    def devices(self) -> list[str]:
        """The names of the devices that have fired, see `Columns.device`; longer names of a run only follow."""
        with self._lock:
            return self._devices.names

    def sites(self) -> list[CallSite]:
        """The sites that have fired, in the order of their first event."""
        with self._lock:
            return [tap.site for tap in self._tally.taps.values()]

    def typed_sites(self) -> list[CallSite]:
        """The same, each watched value once for each type that it has had."""
        with self._lock:
            order = {number: place for place, number in enumerate(self._tally.taps)}
            taps = sorted(self._types.taps.items(), key=lambda item: order[item[0][0]])
        typed = {
            (site.id, site.watch and (site.watch.shape, site.watch.dtype)): site for site in (t.site for _, t in taps)
        }
        return list(typed.values())

    def latest_taps(self) -> dict[int, Tap]:
        """Site id -> the tap that reported its newest event, in the order of the sites' first event."""
        with self._lock:
            return dict(self._tally.taps)

    def taps_by_type(self) -> dict[tuple[int, int], Tap]:
        """Site id and number of a type, see `Columns.type` -> the tap of it that came last."""
        with self._lock:
            return dict(self._types.taps)

    def seen_by_site(self) -> dict[int, int]:
        """Site id -> how many events of it have arrived."""
        with self._lock:
            return dict(self._tally.seen)

    def phantoms_by_site(self) -> dict[int, int]:
        """Site id -> how many of its events were phantoms, for sites that may have some."""
        with self._lock:
            return dict(self._tally.phantoms)

    def doubt(self, site_id: int, last_call: float) -> None:
        """Not all firings of a site are recorded, up to and including this call (`math.inf` for until further notice)."""
        with self._lock:
            self._ordinals.doubtful[site_id] = last_call

    def sample(self, site_id: int, every: int | None) -> None:
        """Record one firing in `every` of a site from now on; None restores what its capture says."""
        with self._lock:
            self._occurrences.sample(site_id, every)

    def is_doubtful(self, site_id: int, call: int) -> bool:
        """Whether not all firings of the site in this call may have been recorded."""
        with self._lock:
            return call <= self._ordinals.doubtful.get(site_id, -2)

    def dropped_by_site(self) -> dict[int, int]:
        """Site id -> how many of its events are no longer kept."""
        with self._lock:
            return dict(self._tally.dropped)

    def event(self, position: int) -> Event:
        """The event at this position.

        Raises:
          IndexError: it has not arrived, or is no longer kept.
        """
        with self._lock:
            if not self._kept.oldest <= position < self._kept.count:
                msg = f"event {position} is not kept; {self._kept.oldest} to {self._kept.count - 1} are"
                raise IndexError(msg)
            segment = self._kept.at(position)
        return segment.event(position)

    def values_at(self, positions: np.ndarray) -> Iterator[tuple[Tap, list[int], list[tuple[np.ndarray, ...]]]]:
        """The events at these positions, int64[n], ascending, as far as they are kept; see `Segment.values_at`."""
        if len(positions):
            for segment, first, end in self._between(int(positions[0]), int(positions[-1]) + 1):
                yield from segment.values_at(positions[(positions >= first) & (positions < end)])

    def last(self, count: int) -> list[Event]:
        """The newest `count` events that are kept, oldest first."""
        return self.range(max(self._kept.count - count, 0), self._kept.count)

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
        """The numbers and small vectors among these events, see `Segment.numbers`."""
        return [part for segment, first, end in self._between(start, stop) for part in segment.numbers(first, end)]

    def kept(self) -> list[SegmentSlice]:
        """All events that are kept, oldest first, in pieces that do not change any more."""
        return [SegmentSlice(*one) for one in self._between(0, self._kept.count)]

    def nonfinite(self) -> dict[int, NonFinite]:
        """Site id -> what of its values was not finite, dropped events included; only of sites where something was."""
        with self._lock:
            return dict(self._tally.nonfinite)

    def _between(self, start: int, stop: int) -> list[tuple[Segment, int, int]]:
        with self._lock:
            return self._kept.between(start, stop)

    def _append(self, segment: Segment) -> None:
        self._tally.add(segment)
        self._kept.append(segment)
        if self._told is not None:
            self._told(SegmentSlice(segment, segment.first, segment.stop))

    def _evict(self) -> None:
        kept = self._kept
        too_many = kept.count - kept.oldest - self.budget.events
        self._tally.drop(kept.let_go(too_many, kept.nbytes - self.budget.for_kept(self._largest)))
