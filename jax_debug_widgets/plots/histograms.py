"""Draw how a value's elements are distributed, event by event: as a ridge plot of histograms, or as a heat map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = Literal["ridge", "heat"]

_MOST_HILLS = 30
_MOST_LABELS = 6
_OVERLAP = 4
"""The height of the highest hill, as a multiple of the distance between two hills."""


@dataclass(frozen=True)
class Histograms:
    """The histograms of a value, one for each event, all over the same bins.

    Attributes:
      name: the name of the value.
      x: float64[n], the step of each event.
      edges: float64[bins + 1].
      counts: int64[n, bins].
      odd: int64[n], the number of elements of each event that are NaN or infinite.
      ticks: index of an edge -> its label; empty if the edges are labelled by their numbers.
    """

    name: str
    x: np.ndarray
    edges: np.ndarray
    counts: np.ndarray
    odd: np.ndarray
    ticks: Mapping[int, str] = field(default_factory=dict[int, str])


def draw_histograms(histograms: Histograms, kind: Kind, *, ax: Axes | None = None) -> Axes:
    """Draw histograms as the panel does.

    Args:
      histograms: the histograms of at least one event.
      kind: `ridge` draws a hill for each of at most 30 events, the newest in front; `heat` a column for each event.
      ax: the axes to draw on; by default those of a new figure.

    Returns:
      The axes drawn on.
    """
    if ax is None:
        from matplotlib import pyplot as plt

        _, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    name = histograms.name.replace("$", r"\$")
    odd = int(histograms.odd.sum())
    ax.set_title(f"{name}, {odd:,} not finite" if odd else name)
    draw = _draw_ridge if kind == "ridge" else _draw_heat
    draw(ax, histograms)
    return ax


def _draw_ridge(ax: Axes, histograms: Histograms) -> None:
    chosen = _some(len(histograms.x), _MOST_HILLS)
    middles = histograms.edges[:-1] / 2 + histograms.edges[1:] / 2
    most = max(histograms.counts[chosen].max(initial=0), 1)
    for hill, event in enumerate(chosen.tolist()):
        base = len(chosen) - 1 - hill
        top = base + histograms.counts[event] / most * _OVERLAP
        # A hill hides those behind it, and hills further behind are paler.
        strength = 0.2 + 0.6 * (hill + 1) / len(chosen)
        ax.fill_between(middles, base, top, color=ax.get_facecolor(), linewidth=0, zorder=2 * hill)
        ax.fill_between(middles, base, top, color="C0", alpha=strength / 2, linewidth=0, zorder=2 * hill)
        ax.plot(middles, top, color="C0", alpha=strength, linewidth=0.9, zorder=2 * hill + 1)
    labelled = _some(len(chosen), _MOST_LABELS)
    ax.set_yticks(len(chosen) - 1 - labelled, [f"{x:g}" for x in histograms.x[chosen[labelled]]])
    ax.set_ylabel("step")
    ax.set_xlim(histograms.edges[0], histograms.edges[-1])
    if histograms.ticks:
        ax.set_xticks([*histograms.ticks], [*histograms.ticks.values()])


def _draw_heat(ax: Axes, histograms: Histograms) -> None:
    from matplotlib.colors import LogNorm

    counts = np.ma.masked_equal(histograms.counts.T, 0)
    norm = LogNorm(1, max(histograms.counts.max(initial=0), 2))
    places = np.arange(len(histograms.x) + 1) - 0.5
    picture = ax.pcolormesh(places, histograms.edges, counts, norm=norm, cmap="viridis")
    labelled = _some(len(histograms.x), _MOST_LABELS)
    ax.set_xticks(labelled, [f"{x:g}" for x in histograms.x[labelled]])
    ax.set_xlabel("step")
    if histograms.ticks:
        ax.set_yticks([*histograms.ticks], [*histograms.ticks.values()])
    ax.figure.colorbar(picture, ax=ax, label="elements")


def _some(count: int, most: int) -> np.ndarray:
    """Select at most `most` of `count` places, evenly spaced, with the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))
