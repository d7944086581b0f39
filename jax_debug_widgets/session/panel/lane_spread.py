"""Read what the lanes of a `vmap` span, for a value that is one number in each lane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets.session.run.headline import numbers_of
from jax_debug_widgets.session.run.lane_numbers import lane_count
from jax_debug_widgets.session.run.naming import SelectedValue
from jax_debug_widgets.widgets import LaneSpread

if TYPE_CHECKING:
    from jax_debug_widgets.events import CallSite
    from jax_debug_widgets.store import Store

_COUNTS = {"nan": np.nan, "posinf": np.inf, "neginf": -np.inf}
"""Statistic that counts elements that are not finite -> the number that it counts."""


def gathered(store: Store, site: CallSite, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, LaneSpread] | None:
    """Gather the numbers that lanes print one by one: the steps, the mean of each step, and what the lanes span.

    It is None if the site has one lane, or several devices.
    """
    x, lane, device = store.history.places(site.id)
    both = min(len(x), len(values))  # Events may have come or gone between the two reads.
    x, lane, device, y = (column[len(column) - both :] for column in (x, lane, device, values.astype(np.float64)))
    if len(np.unique(lane)) <= 1 or len(np.unique(device)) > 1:
        return None
    order = np.argsort(x, kind="stable")
    steps, starts, sizes = np.unique(x[order], return_index=True, return_counts=True)
    return steps, *_spans(y[order], starts, sizes)


def _spans(y: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, LaneSpread]:
    """Return the mean of each step, and what its lanes span; a step begins at each of `starts`."""
    finite = np.isfinite(y)
    counts = np.add.reduceat(finite.astype(int), starts)
    means, low, high = (
        np.where(counts > 0, ufunc.reduceat(np.where(finite, y, neutral), starts) / size, np.nan)
        for ufunc, neutral, size in (
            (np.add, 0.0, np.maximum(counts, 1)),
            (np.minimum, np.inf, 1),
            (np.maximum, -np.inf, 1),
        )
    )
    marks = means.copy()
    for kind, is_kind in ((-np.inf, np.isneginf(y)), (np.inf, np.isposinf(y)), (np.nan, np.isnan(y))):
        marks[np.logical_or.reduceat(is_kind, starts)] = kind
    return means, LaneSpread(int(sizes[-1]), int(sizes[-1] - counts[-1]), low, high, marks)


def lane_spread(store: Store, site: CallSite, means: np.ndarray) -> LaneSpread:
    """Return what the lanes of a site span at each step; `means` are their means."""
    assert site.watch is not None
    low, high = (_column(store, site, name, len(means)) for name in ("min", "max"))
    marks, bad = means.astype(np.float64), np.zeros(len(means))
    for name in reversed([name for name in _COUNTS if name not in site.watch.intended]):
        count = _column(store, site, name, len(means))
        marks[count > 0] = _COUNTS[name]
        bad += np.nan_to_num(count)
    return LaneSpread(lane_count(site.watch), int(bad[-1]), low, high, marks)


def _column(store: Store, site: CallSite, name: str, length: int) -> np.ndarray:
    """Return the newest `length` numbers of a statistic. It is NaN where the site has none: events may have come or gone."""
    found = numbers_of(store, SelectedValue(site, site.values.index(name))) if name in site.values else None
    newest = np.zeros(0) if found is None else found[-length:].astype(np.float64)
    return np.concatenate([np.full(length - len(newest), np.nan), newest])
