"""Number the firings of each site."""

from __future__ import annotations

import numpy as np

from jax_debug_widgets.events import FiringBatch


class Occurrences:
    """Numbers each site's firings, counting on from one batch to the next."""

    def __init__(self) -> None:
        self._fired: dict[int, int] = {}
        self._every: dict[int, int] = {}
        """Site id -> n, if one firing of n is recorded because the user set it at run time."""

    def sample(self, site_id: int, every: int | None) -> None:
        """Note that one firing of `every` of a site is recorded from now on; None for the setting of the capture."""
        if every is None:
            self._every.pop(site_id, None)
        else:
            self._every[site_id] = every

    def of(self, batch: FiringBatch, ordinals: np.ndarray) -> np.ndarray:
        """Return for each firing how often its site had fired before, int64[n]. Lanes that fire one by one count once."""
        site = batch.of_each([tap.site.id for tap in batch.taps])
        stands_for, first = np.ones(len(batch), np.int64), np.ones(len(batch), bool)
        for number, tap in enumerate(batch.taps):
            firings, columns = batch.firings_of(number), batch.columns[number]
            fired = tap.stands_for(columns, self._every.get(tap.site.id))
            stands_for[firings] = fired
            # If firings are left out, lanes without a number cannot be told apart.
            if tap.nesting.lanewise and (tap.is_numbered or (np.ndim(fired) == 0 and fired == 1)):
                first[firings] = tap.lanes_of(columns, np.arange(len(firings)), ordinals[firings]) <= 0
        occurrences = np.empty(len(batch), np.int64)
        for number in {tap.site.id for tap in batch.taps}:
            mine = np.flatnonzero(site == number)
            before = self._fired.get(number, 0)
            counted = before + np.cumsum(stands_for[mine] * first[mine])
            occurrences[mine] = counted - stands_for[mine]
            self._fired[number] = int(counted[-1])
        return occurrences
