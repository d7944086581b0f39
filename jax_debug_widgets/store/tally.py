"""Count the events of each site of a run, kept or not."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from jax_debug_widgets.events import FiringBatch, NonFinite, Tap
from jax_debug_widgets.store.segment import Segment


class CountsBySite:
    """Counts the events of each site. The keys of the tables are site ids.

    Attributes:
      taps: the tap of a site's newest event, in the order of the sites' first event.
      seen: the number of events that have arrived.
      dropped: the number of events that are no longer kept.
      phantoms: the number of phantoms, for sites that may have some.
      nonfinite: the values that were not finite, for sites that had some.
      lost: the number of events, of all sites, that were dropped before they were taken in.
    """

    def __init__(self) -> None:
        self.taps: dict[int, Tap] = {}
        self.seen: dict[int, int] = {}
        self.dropped: dict[int, int] = {}
        self.phantoms: dict[int, int] = {}
        self.nonfinite: dict[int, NonFinite] = {}
        self.lost = 0

    def add(self, segment: Segment) -> None:
        """Count the events of a new segment."""
        for tap in segment.taps:
            self.taps[tap.site.id] = tap
        _add(self.seen, segment.sites_between(segment.first, segment.stop))
        _add(self.phantoms, segment.phantoms_by_site())
        for site, (nan, inf, first) in segment.nonfinite().items():
            before = self.nonfinite.get(site, NonFinite(0, 0, first))
            self.nonfinite[site] = NonFinite(before.nan + nan, before.inf + inf, before.first)

    def begin(self, dropped: Mapping[int, int], oldest: int) -> None:
        """Count events that came before the first kept one, which has the position `oldest`; `dropped` is site id -> count."""
        _add(self.seen, dropped)
        _add(self.dropped, dropped)
        self.lost = max(sum(dropped.values()) - oldest, 0)

    def drop(self, counts: dict[int, int]) -> None:
        """Count events that are no longer kept: site id -> count."""
        _add(self.dropped, counts)

    def lose(self, batch: FiringBatch, lost: np.ndarray) -> None:
        """Count the firings of a batch that were dropped before they were taken in, `lost`: bool[firings]."""
        for number, count in enumerate(np.bincount(batch.tap[lost], minlength=len(batch.taps)).tolist()):
            tap = batch.taps[number]
            if count:
                events = {tap.site.id: count * tap.size}
                _add(self.seen, events)
                _add(self.dropped, events)
                self.lost += count * tap.size


def _add(table: dict[int, int], counts: Mapping[int, int]) -> None:
    for site, count in counts.items():
        table[site] = table.get(site, 0) + count
