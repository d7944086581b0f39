"""Count the events of each site of a run, whether they are still kept or not."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from jax_debug_widgets.events import FiringBatch, NonFinite, Tap
from jax_debug_widgets.store.segment import Segment


class CountsBySite:
    """Counts of events by site id.

    Attributes:
      taps: the tap that reported a site's newest event, in the order of the sites' first event.
      seen: how many events have arrived; dropped: how many of them are no longer kept.
      phantoms: how many were phantoms, of sites that may have some.
      nonfinite: what of the values was not finite, of sites where something was.
      lost: how many events, of all sites, were dropped before they were taken in.
    """

    def __init__(self) -> None:
        self.taps: dict[int, Tap] = {}
        self.seen: dict[int, int] = {}
        self.dropped: dict[int, int] = {}
        self.phantoms: dict[int, int] = {}
        self.nonfinite: dict[int, NonFinite] = {}
        self.lost = 0

    def add(self, segment: Segment) -> None:
        """Events have been taken in."""
        for tap in segment.taps:
            self.taps[tap.site.id] = tap
        _add(self.seen, segment.sites_between(segment.first, segment.stop))
        _add(self.phantoms, segment.phantoms_by_site())
        for site, (nan, inf, first) in segment.nonfinite().items():
            before = self.nonfinite.get(site, NonFinite(0, 0, first))
            self.nonfinite[site] = NonFinite(before.nan + nan, before.inf + inf, before.first)

    def begin(self, dropped: Mapping[int, int], oldest: int) -> None:
        """Note that so many events of these sites came before the first kept one, which has the position `oldest`."""
        _add(self.seen, dropped)
        _add(self.dropped, dropped)
        self.lost = max(sum(dropped.values()) - oldest, 0)

    def drop(self, counts: dict[int, int]) -> None:
        """Note that so many events of these sites are no longer kept."""
        _add(self.dropped, counts)

    def lose(self, batch: FiringBatch, lost: np.ndarray) -> None:
        """Firings, `lost`: bool[firings], have been dropped before they were taken in."""
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
