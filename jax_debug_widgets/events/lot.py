"""Firings that are taken in together, as columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jax_debug_widgets.events.tap import Firing, Tap


class Lot:
    """Some firings in arrival order.

    Looked through once here: at a million firings a second each further loop over them would be felt.

    Attributes:
      taps: the taps that have fired.
      tap: int64[n], index into `taps`.
      times_ns: int64[n], `time.perf_counter_ns()`.
      arrays: of each firing, its values and mesh coordinates.
    """

    def __init__(
        self, taps: Sequence[Tap], tap: np.ndarray, times_ns: np.ndarray, arrays: Sequence[tuple[np.ndarray, ...]]
    ) -> None:
        self.taps, self.tap, self.times_ns, self.arrays = taps, tap, times_ns, arrays

    @classmethod
    def of(cls, firings: Sequence[Firing]) -> Lot:
        """The firings as columns."""
        if not firings:
            return cls((), np.zeros(0, np.int64), np.zeros(0, np.int64), ())
        taps, times, arrays = zip(*firings, strict=True)
        index: dict[Tap, int] = {}
        numbers = [index.setdefault(tap, len(index)) for tap in taps]
        return cls(tuple(index), np.array(numbers, np.int64), np.array(times, np.int64), arrays)

    def __len__(self) -> int:
        return len(self.tap)

    def part(self, start: int, stop: int) -> Lot:
        """Firings `start .. stop - 1`, with only the taps that occur in them."""
        if (start, stop) == (0, len(self)):
            return self
        used, tap = np.unique(self.tap[start:stop], return_inverse=True)
        taps = [self.taps[number] for number in used.tolist()]
        return Lot(taps, tap, self.times_ns[start:stop], self.arrays[start:stop])

    def of_each(self, numbers: Sequence[int]) -> np.ndarray:
        """int64[n]: for each firing, the number of its tap out of these, one a tap."""
        return np.array(numbers, np.int64)[self.tap]
