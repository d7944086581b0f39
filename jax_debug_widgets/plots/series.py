"""Draw lines over steps, as the panel's plots show them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets.events.amounts import in_natural_order
from jax_debug_widgets.events.numbers import as_numbers, scale_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LINES = 3
"""The most lanes that get a line each; more are drawn as a band."""

MOST_DEVICES = 8
"""The most devices that get a line each: as many as one host has."""

MOST_ELEMENTS = 16
"""The most elements of an array that get a line each; more are drawn as a band."""

_MARKS = {"NaN": ("x", 0.98), "∞": ("^", 0.98), "−∞": ("v", 0.02)}  # noqa: RUF001 - the sign that is meant
"""The marker for each kind of non-finite value, and its height as a fraction of the axes."""


@dataclass(frozen=True)
class Series:
    """The history of one value.

    Attributes:
      name: the name of the value.
      x: float64[n], the step of each event; not unique, as lanes share theirs.
      values: [n, ...].
      strands: the lane and device of each event, as an index into `strand_names`.
      strand_names: e.g. `lane 3`, `cpu:1`.
      ends: float64[n, 2], if `values` are means over elements: the range of the elements, or non-finite elements if
        there are any; None if `values` are the elements.
    """

    name: str
    x: np.ndarray
    values: np.ndarray
    strands: np.ndarray
    strand_names: Sequence[str] = ("",)
    ends: np.ndarray | None = None


def draw_series(series: Sequence[Series], *, ax: Axes | None = None, log: bool = False, band: bool = False) -> Axes:
    """Draw each series as lines: one for each element of a small array, and for each of few lanes and devices.

    If there are more lanes, devices or elements, their mean is drawn, with a band from the lowest to the highest. NaN
    and infinities are marked at the edge of the axes, not left as gaps. Complex numbers are drawn by their magnitude.

    Args:
      series: the series to draw.
      ax: the axes to draw on; by default those of a new figure.
      log: whether the y axis is logarithmic.
      band: whether elements of small arrays are drawn as a band, too.

    Returns:
      The axes drawn on.
    """
    if ax is None:
        from matplotlib import pyplot as plt

        _, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
    drawn = [line for one in series for line in _lines(_in_real_numbers(one), band=band)]
    for line in drawn:
        _draw(ax, *line)
    ax.set_xlabel("step")
    if all((one.x == np.floor(one.x)).all() for one in series):
        from matplotlib.ticker import MaxNLocator

        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    if log:
        ax.set_yscale("log")
    if len(drawn) == 1:
        ax.set_ylabel(drawn[0][0])
    elif drawn:
        ax.legend()
    return ax


def _in_real_numbers(series: Series) -> Series:
    """Convert the values to real numbers, and escape the name: matplotlib reads a dollar sign as a formula."""
    name = series.name.replace("$", r"\$")
    if np.iscomplexobj(series.values):
        name = f"|{name}|"
    return replace(series, name=name, values=as_numbers(np.asarray(series.values)))


_Line = tuple[str, np.ndarray, np.ndarray, np.ndarray]
"""The name; x, float64[n]; float64[n, k], drawn by their mean; float64[n, m], drawn as a band if m is not 1."""


def _lines(series: Series, *, band: bool) -> Iterator[_Line]:
    shape = series.values.shape[1:]
    flat = series.values.reshape(len(series.values), math.prod(shape))
    if series.ends is not None:
        yield from _strands(series.name, series, flat)
        return
    if flat.shape[1] > MOST_ELEMENTS or (band and flat.shape[1] > 1):
        yield f"{series.name}, mean and range over elements", series.x, flat, flat
        return
    for element in range(flat.shape[1]):
        index = np.unravel_index(element, shape)
        name = f"{series.name}[{', '.join(map(str, index))}]" if shape else series.name
        yield from _strands(name, series, flat[:, element : element + 1])


def _strands(name: str, series: Series, values: np.ndarray) -> Iterator[_Line]:
    there = np.unique(series.strands)
    spread = values if series.ends is None else series.ends
    names: dict[int, str] = {strand: str(series.strand_names[strand]) for strand in map(int, there)}
    are_lanes = any(own.startswith("lane") for own in names.values())
    if len(there) <= 1:
        yield name, series.x, values, spread
    elif len(there) <= (MOST_LINES if are_lanes else MOST_DEVICES):
        for strand in sorted(names, key=lambda strand: in_natural_order(names[strand])):
            mine = series.strands == strand
            yield f"{name}, {names[strand]}", series.x[mine], values[mine], spread[mine]
    else:
        kind = "lanes" if are_lanes else "devices"
        yield f"{name}, mean and range over {len(there)} {kind}", series.x, values, spread


def _draw(ax: Axes, name: str, x: np.ndarray, values: np.ndarray, spread: np.ndarray) -> None:
    at, row = np.unique(x, return_inverse=True)
    finite = np.isfinite(values)
    counts = np.bincount(row, finite.sum(axis=1), len(at))
    scale = scale_of(values[finite])
    sums = np.bincount(row, np.where(finite, values / scale, 0).sum(axis=1), len(at))
    with np.errstate(invalid="ignore"):
        (line,) = ax.plot(at, sums / counts * scale, label=name, linewidth=1.2)
    if counts.max(initial=0) > 1 or spread.shape[1] > 1:
        low, high = np.full(len(at), np.inf), np.full(len(at), -np.inf)
        finite = np.isfinite(spread)
        np.minimum.at(low, row, np.where(finite, spread, np.inf).min(axis=1))
        np.maximum.at(high, row, np.where(finite, spread, -np.inf).max(axis=1))
        some = low <= high
        ax.fill_between(at[some], low[some], high[some], color=line.get_color(), alpha=0.2, linewidth=0)
    for kind, odd in (("NaN", np.isnan(values)), ("∞", values == np.inf), ("−∞", values == -np.inf)):  # noqa: RUF001
        places = np.unique(x[odd.any(axis=1)])
        if len(places):
            marker, height = _MARKS[kind]
            where = ax.get_xaxis_transform()
            label = f"{name}: {kind}"
            ax.plot(places, np.full(len(places), height), marker, color="tab:red", transform=where, label=label)
