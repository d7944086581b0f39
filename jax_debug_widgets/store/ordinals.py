"""How many times a tap has fired in its call, on its device: what tells the iteration of its loops."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from jax_debug_widgets.events import Firing


class Ordinals:
    """Counts on from one lot of firings to the next.

    A device runs its calls one after the other, so only the last call of each tap and device is remembered.
    """

    def __init__(self) -> None:
        self._last: dict[Hashable, tuple[int, int]] = {}
        """Tap, with its coordinates where it has some -> its last call, and how often it has fired in that."""

    def of(self, firings: Sequence[Firing], calls: np.ndarray) -> np.ndarray:
        """For each firing int64: how often its tap had fired before in the same call, on the same device."""
        index: dict[Hashable, int] = {}
        keys = np.array(
            [
                index.setdefault((tap, tap.coordinates_of(arrays)) if tap.nesting.axes else tap, len(index))
                for tap, _, arrays in firings
            ],
            np.int64,
        )
        ordinals = np.empty(len(firings), np.int64)
        for key, number in index.items():
            mine = np.flatnonzero(keys == number)
            ordinals[mine] = self._counted(key, calls[mine])
        return ordinals

    def _counted(self, key: Hashable, calls: np.ndarray) -> np.ndarray:
        positions = np.arange(len(calls))
        changes = np.flatnonzero(np.diff(calls, prepend=calls[0] - 1))
        starts = changes[np.searchsorted(changes, positions, side="right") - 1]
        counted = positions - starts
        last_call, before = self._last.get(key, (None, 0))
        if calls[0] == last_call:
            counted[starts == 0] += before
        self._last[key] = (int(calls[-1]), int(counted[-1]) + 1)
        return counted
