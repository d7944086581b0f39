"""Make the texts of a run's events for lists of lines. Each text is made only once, when somebody looks."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jax_debug_widgets.store import Store

_MOST_KEPT = 1_000_000
"""The most characters of kept texts."""


class Texts:
    """Makes and keeps the texts of events; long texts are cut, see `Tap.brief_texts`. Safe from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: OrderedDict[int, str] = OrderedDict()
        self._size = 0

    def of(self, positions: np.ndarray) -> dict[int, str]:
        """Return position -> text for the kept events at these positions, int64[n] ascending."""
        wanted = positions.tolist()
        with self._lock:
            found = {position: self._known[position] for position in wanted if position in self._known}
            for position in found:
                self._known.move_to_end(position)
        missing = np.array([position for position in wanted if position not in found], np.int64)
        for tap, places, values in self._store.values_at(missing):
            made = dict(zip(places, tap.brief_texts(values), strict=True))
            found.update(made)
            self._keep(made)
        oldest = self._store.oldest
        return {position: found[position] for position in wanted if position in found and position >= oldest}

    def _keep(self, made: dict[int, str]) -> None:
        with self._lock:
            for position, text in made.items():
                self._size += len(text) - len(self._known.pop(position, ""))
                self._known[position] = text
            while self._size > _MOST_KEPT and self._known:
                self._size -= len(self._known.popitem(last=False)[1])
