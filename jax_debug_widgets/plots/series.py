"""Lines over steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Series = tuple[str, np.ndarray, np.ndarray]
"""Name, steps int64[n] (ascending but not unique: lanes share theirs), values [n, ...]."""

_FIRST, _LAST = 5, 95
"""Percentiles of the band that shows how lanes or elements spread."""


def draw_series(series: Sequence[Series], *, ax: Axes | None = None, log: bool = False) -> Axes:
    """Draw each series as a line; where a step has several numbers, their median with a 5-95 % band.

    NaN and infinities are marked at the upper edge of the axes, not left as gaps. Complex numbers are drawn by their
    magnitude.

    Returns:
      The axes drawn on: `ax`, or those of a new figure.
    """
    if ax is None:
        from matplotlib import pyplot as plt

        _, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
    shown_series = [_shown(*one) for one in series]
    for name, steps, values in shown_series:
        at, rows, there = _by_step(steps, values)
        finite = np.isfinite(rows) & there
        shown = np.where(finite, rows, np.nan)
        some = finite.any(axis=1)
        middle = np.full(len(at), np.nan)
        middle[some] = np.nanmedian(shown[some], axis=1)
        (line,) = ax.plot(at, middle, label=name, linewidth=1.2)
        if rows.shape[1] > 1 and some.any():
            low, high = np.nanpercentile(shown[some], [_FIRST, _LAST], axis=1)
            ax.fill_between(at[some], low, high, color=line.get_color(), alpha=0.2, linewidth=0)
        broken = at[(there & ~finite).any(axis=1)]
        if len(broken):
            top = ax.get_xaxis_transform()
            ax.plot(broken, np.full(len(broken), 0.98), "x", color="tab:red", transform=top, label=f"{name}: NaN or ∞")
    ax.set_xlabel("step")
    if log:
        ax.set_yscale("log")
    if len(shown_series) == 1:
        ax.set_ylabel(shown_series[0][0])
    else:
        ax.legend()
    return ax


def _shown(name: str, steps: np.ndarray, values: np.ndarray) -> Series:
    """The series in real numbers, its name so that matplotlib shows it as it is: a dollar sign begins a formula."""
    name = name.replace("$", r"\$")
    if np.iscomplexobj(values):
        return f"|{name}|", steps, np.abs(values)
    return name, steps, np.asarray(values, np.float64)


def _by_step(steps: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Steps int64[m] without repetition, all numbers of each float64[m, k], and which of these there are bool[m, k]."""
    flat = values.reshape(len(values), math.prod(values.shape[1:]))
    at, row = np.unique(steps, return_inverse=True)
    order = np.argsort(row, kind="stable")
    counts = np.bincount(row, minlength=len(at))
    column = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    shape = (len(at), counts.max(initial=0), flat.shape[1])
    table, there = np.zeros(shape), np.zeros(shape, bool)
    table[row[order], column], there[row[order], column] = flat[order], True
    flat_shape = (len(at), shape[1] * shape[2])
    return at, table.reshape(flat_shape), there.reshape(flat_shape)
