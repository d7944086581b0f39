"""How many times a tap has fired in its call, on its device: what tells the iteration of its loops."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import numpy as np

from jax_debug_widgets.events import Lot, Tap


class Ordinals:
    """Counts on from one lot of firings to the next.

    A device runs its calls one after the other, so only the last call of each tap and device is remembered.
    """

    def __init__(self) -> None:
        self._last: dict[Hashable, tuple[int, int]] = {}
        """Tap, with its coordinates where it has some -> its last call, and how often it has fired in that."""

    def of(self, lot: Lot, calls: np.ndarray) -> np.ndarray:
        """For each firing int64: how often its tap had fired before in the same call, on the same device."""
        ordinals = np.empty(len(lot), np.int64)
        for number, tap in enumerate(lot.taps):
            mine = np.flatnonzero(lot.tap == number)
            for key, chosen in self._by_device(tap, lot, mine):
                ordinals[chosen] = self._counted(key, calls[chosen])
        return ordinals

    def _by_device(self, tap: Tap, lot: Lot, mine: np.ndarray) -> Iterator[tuple[Hashable, np.ndarray]]:
        if not tap.nesting.axes:
            yield tap, mine
            return
        index: dict[Hashable, list[int]] = {}
        for position in mine.tolist():
            index.setdefault((tap, tap.coordinates_of(lot.arrays[position])), []).append(position)
        for key, positions in index.items():
            yield key, np.array(positions)

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
