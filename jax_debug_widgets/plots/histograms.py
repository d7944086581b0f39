"""How the elements of a value are spread from event to event: a ridge of histograms, or their heat map."""

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
"""How high the highest hill is, in distances between two."""


@dataclass(frozen=True)
class Histograms:
    """Of the events of one value, over the same bins.

    Attributes:
      name: what the value is called.
      x: float64[n], where each event stands: its step.
      edges: float64[bins + 1].
      counts: int64[n, bins].
      odd: int64[n], how many elements of each are NaN or infinite.
      ticks: what stands at which of `edges`; empty where these are numbers themselves.
    """

    name: str
    x: np.ndarray
    edges: np.ndarray
    counts: np.ndarray
    odd: np.ndarray
    ticks: Mapping[int, str] = field(default_factory=dict[int, str])


def draw_histograms(histograms: Histograms, kind: Kind, *, ax: Axes | None = None) -> Axes:
    """Draw them as the panel does: `ridge`, a hill for each of at most 30 events, newest in front; or `heat`, a column each.

    Args:
      histograms: of at least one event.
      kind: which of the two.
      ax: where; a new figure's axes by default.

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
        # What is behind is hidden, and recedes.
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
    """At most that many of `count` places, evenly, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))
