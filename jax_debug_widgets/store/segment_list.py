"""Keep the newest segments of a run, and drop the oldest."""

from __future__ import annotations

import bisect
from collections import Counter

from jax_debug_widgets.store.dropped_steps import DroppedSteps
from jax_debug_widgets.store.segment import Segment
from jax_debug_widgets.store.site_types import SiteTypes


class SegmentList:
    """Holds segments of consecutive events. It uses no lock.

    Attributes:
      count: the number of events that have come, dropped ones included.
      oldest: the position of the first event that is kept.
      nbytes: the bytes of values and bookkeeping.
      dropped: where the steps of each site go on after its dropped events.
    """

    def __init__(self, types: SiteTypes) -> None:
        self.dropped = DroppedSteps(types)
        self._segments: list[Segment] = []
        self.count = self.oldest = self.nbytes = 0

    def append(self, segment: Segment) -> None:
        """Add a segment after the newest one."""
        self._segments.append(segment)
        self.count = segment.stop
        self.nbytes += segment.bytes_from(segment.first)

    def at(self, position: int) -> Segment:
        """Return the segment of a kept event."""
        return self._segments[self._index_of(position)]

    def between(self, start: int, stop: int) -> list[tuple[Segment, int, int]]:
        """Return the kept events of `start .. stop - 1`: their segments, each with its first event and the end."""
        start, stop = max(start, self.oldest), min(stop, self.count)
        if start >= stop:
            return []
        chosen = self._segments[self._index_of(start) : self._index_of(stop - 1) + 1]
        return [(segment, max(start, segment.first), min(stop, segment.stop)) for segment in chosen]

    @property
    def end_of_arrays(self) -> int:
        """The position after the last segment with arrays; 0 if no segment has arrays."""
        return max((segment.stop for segment in self._segments if segment.has_arrays), default=0)

    def let_go(self, events: int, nbytes: int, stop: int | None = None) -> Counter[int]:
        """Drop the oldest firings, at least this number of events and bytes. Return site id -> number of dropped events.

        Args:
          stop: drop nothing from the segment on that begins at this position; None for no limit.
        """
        gone: Counter[int] = Counter()
        while self._segments and (events > 0 or nbytes > 0) and (stop is None or self.oldest < stop):
            segment = self._segments[0]
            keep_from = segment.position_to_free(self.oldest, max(events, 0), max(nbytes, 0))
            gone.update(segment.sites_between(self.oldest, keep_from))
            self.dropped.pass_over(segment, self.oldest, keep_from)
            freed = segment.bytes_from(self.oldest) - segment.bytes_from(keep_from)
            events, nbytes = events - (keep_from - self.oldest), nbytes - freed
            self.nbytes -= freed
            self.oldest = keep_from
            if keep_from >= segment.stop:
                self._segments.pop(0)
        return gone

    def _index_of(self, position: int) -> int:
        return bisect.bisect_right(self._segments, position, key=lambda segment: segment.first) - 1
