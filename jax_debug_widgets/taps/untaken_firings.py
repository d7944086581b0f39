"""Hold the firings of a capture until the session takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets.events import Inbox
from jax_debug_widgets.taps.outcomes import OutcomeBook

if TYPE_CHECKING:
    from jax_debug_widgets.events import FiringBatch
    from jax_debug_widgets.taps.gate import Gate
    from jax_debug_widgets.taps.sites import SiteBook


class UntakenFirings:
    """Holds the firings and outcomes of one capture that were not taken yet."""

    def __init__(self, gate: Gate, sites: SiteBook) -> None:
        self.firings = Inbox()
        self.outcomes = OutcomeBook(gate)
        self._sites = sites

    def take(self) -> FiringBatch:
        """Take the firings out, without the firings of watched values that a switch drops."""
        batch = self.firings.take()
        changed = self._sites.changed()
        # A recorder of several watched values records all of them, including those that are muted or sampled.
        switched = [number for number, tap in enumerate(batch.taps) if tap.site.watch and tap.site.id in changed]
        if not switched:
            return batch
        chosen = np.ones(len(batch), bool)
        for number in switched:
            firings, switch = batch.firings_of(number), self._sites.switch_of(batch.taps[number].site.id)
            chosen[firings] = [switch.takes(1) for _ in firings]
        return batch.where(chosen)

    def discard(self) -> None:
        """Drop all firings and outcomes, which will not be read."""
        self.firings.take()
        for kept in (self.outcomes.inbox, self.outcomes.staged, self.outcomes.notes, self.outcomes.stale):
            kept.clear()
