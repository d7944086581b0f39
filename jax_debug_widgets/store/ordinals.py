"""Count how often a tap has fired in its call and on its device. The count gives the iteration of its loops."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import numpy as np

from jax_debug_widgets.events import FiringBatch, Tap, joined

_CALLS_AT_ONCE = 256
"""The most calls of a tap that are counted at the same time; more threads do not run at once."""


class Ordinals:
    """Numbers the firings of each tap within a call, counting on from one batch to the next.

    A device runs its calls one after the other, or each thread runs its own. So only the calls that fired last are remembered.
    """

    def __init__(self) -> None:
        self._fired: dict[Hashable, dict[int, int]] = {}
        """Tap, with mesh coordinates if it has some -> call -> how often the tap has fired in it; the newest call is last."""
        self.doubtful: dict[int, float] = {}
        """Site id -> the last call in which some firings may not have been recorded. Up to this call, counting is no use."""

    def of(self, batch: FiringBatch, calls: np.ndarray) -> np.ndarray:
        """Return for each firing how often its tap had fired before in the same call on the same device, int64[n].

        It is -1 if some firings may not have been recorded.
        """
        ordinals = np.empty(len(batch), np.int64)
        for number, tap in enumerate(batch.taps):
            doubtful = self.doubtful.get(tap.site.id)
            for key, chosen in self._by_device(tap, number, batch):
                own = calls[chosen]
                counted = self._counted(key, own)
                ordinals[chosen] = counted if doubtful is None else np.where(own <= doubtful, -1, counted)
        return ordinals

    def _by_device(self, tap: Tap, number: int, batch: FiringBatch) -> Iterator[tuple[Hashable, np.ndarray]]:
        mine = batch.firings_of(number)
        if not tap.nesting.axes:
            yield tap, mine
            return
        coordinates = np.stack([joined(column) for column in batch.columns[number][tap.coordinates]])
        devices, device = np.unique(coordinates, axis=1, return_inverse=True)
        for place, at in enumerate(devices.T.tolist()):
            yield (tap, *at), mine[device.ravel() == place]

    def _counted(self, key: Hashable, calls: np.ndarray) -> np.ndarray:
        fired = self._fired.setdefault(key, {})
        if (calls == calls[0]).all():
            before = fired.pop(int(calls[0]), 0)
            fired[int(calls[0])] = before + len(calls)
            return np.arange(before, before + len(calls))
        found, which, counts = np.unique(calls, return_inverse=True, return_counts=True)
        by_call, ends = np.argsort(which, kind="stable"), np.cumsum(counts)
        before = np.array([fired.get(call, 0) for call in found.tolist()])
        counted = np.empty_like(by_call)
        counted[by_call] = np.arange(len(calls)) + (before - ends + counts)[which[by_call]]
        for last in np.sort(by_call[ends - 1]).tolist():
            fired.pop(int(calls[last]), None)
            fired[int(calls[last])] = int(counted[last]) + 1
        for call in list(fired)[:-_CALLS_AT_ONCE]:
            del fired[call]
        return counted
