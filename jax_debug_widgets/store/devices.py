"""Number the devices of a run, so that a column of events can refer to them."""

from __future__ import annotations

import numpy as np

from jax_debug_widgets.events import Tap


class Devices:
    """Numbers the devices in the order in which they become known. All devices of a mesh get numbers at its first firing."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._by_tap: dict[Tap, np.ndarray | None] = {}

    @property
    def names(self) -> list[str]:
        """The names of the devices in the order of their numbers, e.g. `cpu:2`."""
        return list(self._numbers)

    def of(self, tap: Tap) -> np.ndarray | None:
        """Return the device's number at each coordinate of a tap's mesh, int64 of the mesh's shape; None if it is not known."""
        if tap not in self._by_tap:
            names = None if tap.nesting.devices is None else np.asarray(tap.nesting.devices)
            self._by_tap[tap] = names if names is None else self._numbered(names)
        return self._by_tap[tap]

    def _numbered(self, names: np.ndarray) -> np.ndarray:
        numbers = [self._numbers.setdefault(name, len(self._numbers)) for name in names.ravel().tolist()]
        return np.array(numbers, np.int64).reshape(names.shape)
