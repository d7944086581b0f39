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
"""The statistics that count elements that are not finite, and what they count."""


def lane_spread(store: Store, site: CallSite, means: np.ndarray) -> LaneSpread:
    """Return what the lanes of a site span at each step; `means` are their means."""
    assert site.watch is not None
    low, high = (_column(store, site, name, len(means)) for name in ("min", "max"))
    marks, bad = means.astype(np.float64), np.zeros(len(means))
    for name in reversed([name for name in _COUNTS if name not in site.watch.meant]):
        count = _column(store, site, name, len(means))
        marks[count > 0] = _COUNTS[name]
        bad += np.nan_to_num(count)
    return LaneSpread(lane_count(site.watch), int(bad[-1]), low, high, marks)


def _column(store: Store, site: CallSite, name: str, length: int) -> np.ndarray:
    """Return the newest `length` numbers of a statistic. It is NaN where the site has none: events may have come or gone."""
    found = numbers_of(store, SelectedValue(site, site.values.index(name))) if name in site.values else None
    newest = np.zeros(0) if found is None else found[-length:].astype(np.float64)
    return np.concatenate([np.full(length - len(newest), np.nan), newest])
