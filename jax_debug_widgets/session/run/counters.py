"""Find the numbers that count steps. They say nothing about a run, so they are not drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets.session.run.headline import numbers_of

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.naming import SelectedValue
    from jax_debug_widgets.store import Store


class Counters:
    """Holds which values of a run count steps.

    A value with the name of one that counts is a counter too, because a loop returns the last count under that name.
    """

    def __init__(self, store: Store, choices: Iterable[SelectedValue]) -> None:
        self._store = store
        self._counts: dict[SelectedValue, bool] = {}
        self._by_name: dict[str, list[SelectedValue]] = {}
        for choice in choices:
            self._by_name.setdefault(choice.name, []).append(choice)

    def has(self, choice: SelectedValue, values: np.ndarray) -> bool:
        """Whether a value, with these numbers, counts steps."""
        if not is_integer(values):
            return False
        return self._is_counting(choice, values) or any(map(self._is_counting, self._by_name.get(choice.name, ())))

    def _is_counting(self, choice: SelectedValue, values: np.ndarray | None = None) -> bool:
        if choice not in self._counts:
            values = numbers_of(self._store, choice) if values is None else values
            self._counts[choice] = values is not None and (
                counts(values) or (is_integer(values) and counts(self._highest(choice, values)))
            )
        return self._counts[choice]

    def _highest(self, choice: SelectedValue, values: np.ndarray) -> np.ndarray:
        x = self._store.history.places(choice.site.id)[0]
        both = min(len(x), len(values))  # Events may have come or gone between the two reads.
        return highest(x[len(x) - both :], values[len(values) - both :])


def is_integer(values: np.ndarray) -> bool:
    """Whether the numbers are integers."""
    return values.dtype.kind in "iu"


def counts(values: np.ndarray) -> bool:
    """Whether a series counts steps: integers, each one more than the one before, or equal to the first again."""
    if len(values) <= 1 or not is_integer(values):
        return False
    is_next = np.diff(values.astype(np.int64)) == 1
    again = values[1:] == values[0]
    return bool((is_next | again).all()) and int(is_next.sum()) >= 2 * int(again.sum())


def highest(x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the greatest number at each place of the axis: lanes that have ended stand still, and the others count on."""
    order = np.argsort(x, kind="stable")
    starts = np.flatnonzero(np.diff(x[order], prepend=np.nan) != 0)
    return np.maximum.reduceat(values[order], starts) if len(starts) else values
