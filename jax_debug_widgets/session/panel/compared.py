"""Compare runs for the browser: the settings that differ, the common curves, and where the values part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jax_debug_widgets.session.panel.rows import sendable
from jax_debug_widgets.session.run.curves import Curve, Key, RunCurves, common, together
from jax_debug_widgets.session.run.run_comparison import ValueDifference, parting_of
from jax_debug_widgets.session.run.saved import plain_config
from jax_debug_widgets.session.run.side_by_side import differing, legend_of, short
from jax_debug_widgets.session.run.thinning import thinned

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.side_by_side import RunGroup
    from jax_debug_widgets.session.run.view import RunView

MOST = 8
"""The most runs that are compared at once."""

_CHARTS, _STRETCHES, _VALUES = 12, 150, 200

_SECONDS = 1.5
"""The most seconds for comparing values; those that are not compared by then are counted."""


def compared(runs: Sequence[RunView], missing: Sequence[str] = ()) -> dict[str, Any]:
    """Return the fields of a message `compared`; `missing` are the keys of runs that are no longer in memory.

    `runs` are the keys in the order of the user's choice. `by` and `groups` are the legend; each group has a colour. `config`
    has a row for each setting that differs. `parted` is the first step at which the values differ. `values` are the common
    values, the worst difference first. A line in `charts` belongs to a group: `x` are steps, `seconds` are since the run
    began, `y` are the values, as text if not finite. `where` of a chart is the line of its value, if others have the name too.
    """
    chosen = list(runs)[:MOST]
    curves = [RunCurves(run) for run in chosen]
    legend = legend_of(chosen)
    configs = [plain_config(run.config) for run in chosen]
    parting = parting_of(curves, _SECONDS)
    first = parting.first
    return {
        "runs": [run.key for run in chosen],
        "missing": list(missing),
        "by": legend.by,
        "groups": [{"runs": list(group.runs), "label": group.label} for group in legend.groups],
        "config": [
            {"name": name, "values": [short(config.get(name)) for config in configs]} for name in differing(configs)
        ],
        "parted": None if first is None else _row(first),
        "values": [_row(one) for one in parting.differences[:_VALUES]],
        "compared": len(parting.differences),
        "unread": parting.unread,
        "charts": _charts(curves, legend.groups),
    }


def _row(one: ValueDifference) -> dict[str, Any]:
    return {
        "name": one.name,
        "where": one.site.where,
        "source": one.site.source,
        "first": one.first,
        "at": one.at,
        "worst": sendable(one.worst),
        "values": [sendable(value) for value in one.values],
    }


def _charts(curves: Sequence[RunCurves], groups: Sequence[RunGroup]) -> list[dict[str, Any]]:
    """Make charts of the most important values that at least two runs have, with a line for each group."""
    found, keys = [], common(curves)
    names = Counter(name for name, _, _ in keys)
    for key in keys:
        lines = [line for number, group in enumerate(groups) if (line := _line(curves, number, group, key))]
        if lines:
            where = next(each.choices[key].site.where for each in curves if key in each.choices)
            found.append({"name": key[0], "where": where if names[key[0]] > 1 else "", "lines": lines})
        if len(found) == _CHARTS:
            break
    return found


def _line(curves: Sequence[RunCurves], number: int, group: RunGroup, key: Key) -> dict[str, Any] | None:
    own = [curve for place in group.runs if key in curves[place].choices and (curve := curves[place].of(key))]
    if not own:
        return None
    curve = together(own)
    chosen = _chosen(curve)
    columns = {"x": curve.x, "seconds": curve.seconds, "y": curve.y, "low": curve.low, "high": curve.high}
    shortened = {name: _short(column[chosen]) for name, column in columns.items() if column is not None}
    return {"group": number, "of": len(own), **shortened}


def _chosen(curve: Curve) -> np.ndarray:
    """Return the indices of the points to send; for a band, the points at which its edges are farthest out."""
    edges = [edge for edge in (curve.y, curve.low, curve.high) if edge is not None]
    found = np.concatenate([thinned(edge, _STRETCHES // len(edges)) for edge in edges])
    return np.unique(found.astype(np.int64))


def _short(column: np.ndarray) -> list[Any]:
    """Return the numbers with as few digits as a picture needs."""
    return [sendable(float(f"{value:.7g}")) for value in column.tolist()]
