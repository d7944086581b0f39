"""Find the values of a column that are NaN or infinite."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jax_debug_widgets.events import Column, Tap
from jax_debug_widgets.events.numbers import infinite
from jax_debug_widgets.store.lanes import by_event


def odd_numbers(tap: Tap, value: int, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many numbers in each element of a column are NaN, and how many infinite: the statistics of an array count them."""
    none = np.zeros(len(column))
    meant = tap.site.watch.meant if tap.site.watch else ()
    if tap.site.watch is not None and len(tap.site.values) > 1:
        name = tap.site.values[value]
        is_infinite = name in ("posinf", "neginf") and name not in meant
        return (column, none) if name == "nan" else (none, column) if is_infinite else (none, none)
    with np.errstate(all="ignore"):
        # A sum is finite only where all is, as nearly always; and a large array is read without making another.
        if np.isfinite(column.sum()):
            return none, none
    rows = column.reshape(len(column), -1)
    return np.isnan(rows).sum(axis=1), infinite(rows, meant).sum(axis=1)


def odd_among(tap: Tap, value: int, column: np.ndarray, there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As `odd_numbers`, of those events alone that are really there, bool[firings, events of a firing]."""
    events = by_event(tap, value, column)
    counts = (one.reshape(there.shape) for one in odd_numbers(tap, value, events.reshape(-1, *tap.shapes[value])))
    nan, inf = ((one * there).sum(axis=1) for one in counts)
    return nan, inf


def pieces(column: Column) -> Iterator[tuple[slice, np.ndarray]]:
    """The rows of a column that stand together, and which they are: arrays that are kept apart are one each."""
    if isinstance(column, np.ndarray):
        yield slice(0, len(column)), column
    else:
        yield from ((slice(row, row + 1), array[None]) for row, array in enumerate(column))
