"""How many times a tap has fired in its call, on its device: what tells the iteration of its loops."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import numpy as np

from jax_debug_widgets.events import Lot, Tap, joined


class Ordinals:
    """Counts on from one lot of firings to the next.

    A device runs its calls one after the other, so only the last call of each tap and device is remembered.
    """

    def __init__(self) -> None:
        self._last: dict[Hashable, tuple[int, int]] = {}
        """Tap, with its coordinates where it has some -> its last call, and how often it has fired in that."""
        self.doubtful: dict[int, float] = {}
        """Site id -> the last call in which not all of its firings may have been recorded: there counting tells nothing."""

    def of(self, lot: Lot, calls: np.ndarray) -> np.ndarray:
        """For each firing int64: how often its tap had fired before in the same call, on the same device; -1 in doubt."""
        ordinals = np.empty(len(lot), np.int64)
        for number, tap in enumerate(lot.taps):
            doubtful = self.doubtful.get(tap.site.id)
            for key, chosen in self._by_device(tap, number, lot):
                own = calls[chosen]
                counted = self._counted(key, own)
                ordinals[chosen] = counted if doubtful is None else np.where(own <= doubtful, -1, counted)
        return ordinals

    def _by_device(self, tap: Tap, number: int, lot: Lot) -> Iterator[tuple[Hashable, np.ndarray]]:
        mine = lot.firings_of(number)
        if not tap.nesting.axes:
            yield tap, mine
            return
        coordinates = np.stack([joined(column) for column in lot.columns[number][tap.coordinates]])
        devices, device = np.unique(coordinates, axis=1, return_inverse=True)
        for place, at in enumerate(devices.T.tolist()):
            yield (tap, *at), mine[device.ravel() == place]

    def _counted(self, key: Hashable, calls: np.ndarray) -> np.ndarray:
        positions = np.arange(len(calls))
        last_call, before = self._last.get(key, (None, 0))
        if (calls == calls[0]).all():
            before = before if calls[0] == last_call else 0
            self._last[key] = (int(calls[0]), before + len(calls))
            return positions + before
        changes = np.flatnonzero(np.diff(calls, prepend=calls[0] - 1))
        starts = changes[np.searchsorted(changes, positions, side="right") - 1]
        counted = positions - starts
        if calls[0] == last_call:
            counted[starts == 0] += before
        self._last[key] = (int(calls[-1]), int(counted[-1]) + 1)
        return counted
