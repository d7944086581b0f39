"""Find the lane and the device of a number in a series."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jax_debug_widgets.store import Store


class Strands:
    """Holds the lanes, devices and steps of a site's kept events, in the order of its series."""

    def __init__(self, store: Store, site_id: int) -> None:
        self._x, self._lane, self._device = store.history.places(site_id)
        self._names = store.devices
        self._lanes, self._devices = (len(np.unique(one)) for one in (self._lane, self._device))

    @property
    def steps(self) -> int:
        """The number of steps; each lane and device fires in each step."""
        return len(np.unique(self._x))

    def words(self, at: int) -> str:
        """Write the lane, `lane 1 of 2`, and the device, if there are several; empty if there is one of each."""
        if not -len(self._lane) <= at < len(self._lane):
            return ""
        parts = [f"lane {self._lane[at]} of {self._lanes}"] if self._lanes > 1 else []
        parts += [f"{self._names[self._device[at]]}"] if self._devices > 1 and self._device[at] >= 0 else []
        return ", ".join(parts)
