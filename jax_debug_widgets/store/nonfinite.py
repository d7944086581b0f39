"""Find the values of a column that are NaN or infinite."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jax_debug_widgets.events import Column, Tap
from jax_debug_widgets.events.numbers import infinite
from jax_debug_widgets.store.lanes import by_event


def odd_numbers(tap: Tap, value: int, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many numbers in each row of a column are NaN, and how many are infinite.

    If the column is a statistic of a watched array, it contains these counts itself.
    """
    none = np.zeros(len(column))
    intended = tap.site.watch.intended if tap.site.watch else ()
    if tap.site.watch is not None and len(tap.site.values) > 1:
        name = tap.site.values[value]
        is_infinite = name in ("posinf", "neginf") and name not in intended
        return (column, none) if name == "nan" else (none, column) if is_infinite else (none, none)
    with np.errstate(all="ignore"):
        # A finite sum means that all is finite, the usual case. The sum makes no second large array.
        if np.isfinite(column.sum()):
            return none, none
    rows = column.reshape(len(column), -1)
    return np.isnan(rows).sum(axis=1), infinite(rows, intended).sum(axis=1)


def odd_among(tap: Tap, value: int, column: np.ndarray, there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count as `odd_numbers` does, without phantoms.

    Args:
      there: bool[firings, events of a firing], False for a phantom.
    """
    events = by_event(tap, value, column)
    counts = (one.reshape(there.shape) for one in odd_numbers(tap, value, events.reshape(-1, *tap.shapes[value])))
    nan, inf = ((one * there).sum(axis=1) for one in counts)
    return nan, inf


def pieces(column: Column) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield a column in pieces that are one array each, with their rows. Arrays that are kept separately are one piece each."""
    if isinstance(column, np.ndarray):
        yield slice(0, len(column)), column
    else:
        yield from ((slice(row, row + 1), array[None]) for row, array in enumerate(column))
