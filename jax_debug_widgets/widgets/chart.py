"""Small charts of series, as SVG that needs no program."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from jax_debug_widgets.events.numbers import scale_of
from jax_debug_widgets.widgets.snapshot import Series

_COLOURS = ("#1565c0", "#c2410c", "#1a7f37", "#8250df", "#a16207", "#be185d")
_BORDER = "1px solid var(--jp-border-color2,#d0d4d9)"
_MONO = "font-family:var(--jp-code-font-family,ui-monospace,Menlo,Consolas,monospace);font-size:12px"
_WRONG = "#c62828"
_WIDTH, _HEIGHT, _FOOT, _SIDE = 270, 84, 14, 46
"""Of one chart, in pixels; of the steps below it, and of the numbers at its left."""


def charts(series: Sequence[Series]) -> str:
    """A chart for each, side by side."""
    if not series:
        return ""
    each = "".join(_chart(one, _COLOURS[index % len(_COLOURS)]) for index, one in enumerate(series))
    return f'<div style="display:flex;flex-wrap:wrap;gap:10px;padding:8px 10px;border-bottom:{_BORDER}">{each}</div>'


def _chart(series: Series, colour: str) -> str:
    name, last = escape(series.name), series.values[-1]
    course = " → ".join(dict.fromkeys(f"{value:.4g}" for value in (series.values[0], last)))
    return (
        f'<figure style="margin:0;width:{_WIDTH}px"><figcaption style="display:flex;gap:6px;{_MONO}" '
        f'title="{name} · {escape(series.site.where)}">'
        f'<b style="color:{colour};overflow:hidden;text-overflow:ellipsis;white-space:nowrap">{name}</b>'
        f'<span style="margin-left:auto;white-space:nowrap">{course}</span></figcaption>'
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{name}, last value {last:.4g}" '
        f'font-size="10" fill="currentColor">{_curve(series, colour)}{_missing(series)}{_words(series)}</svg></figure>'
    )


def _across(series: Series) -> np.ndarray:
    """Where each step stands, in pixels."""
    x = series.steps.astype(float)
    return (x - x[0]) / (x[-1] - x[0] if x[-1] > x[0] else 1) * (_WIDTH - _SIDE - 4) + _SIDE


def _curve(series: Series, colour: str) -> str:
    finite = np.isfinite(series.values)
    if not finite.any():
        return ""
    y = series.values[finite] / scale_of(series.values[finite])
    spread = y.max() - y.min()
    down = np.full(len(finite), np.nan)
    down[finite] = _HEIGHT - _FOOT - 4 - (y - y.min()) / (spread if spread > 0 else 1) * (_HEIGHT - _FOOT - 8)
    pieces, begins = [], True
    for x, at, there in zip(_across(series), down, finite, strict=True):
        if there:  # A number that stands alone is a dot.
            pieces.append(f"M{x:.1f} {at:.1f}h0" if begins else f"L{x:.1f} {at:.1f}")
        begins = not there
    return (
        f'<path fill="none" stroke="{colour}" stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round" '
        f'd="{"".join(pieces)}"/>'
    )


def _missing(series: Series) -> str:
    """Where it was first NaN or infinite."""
    odd = np.flatnonzero(~np.isfinite(series.values))
    if not len(odd):
        return ""
    x, word = _across(series)[odd[0]], "NaN" if np.isnan(series.values[odd[0]]) else "infinite"
    anchor, side = ("start", 4) if x < _WIDTH - 60 else ("end", -4)
    return (
        f'<path stroke="{_WRONG}" stroke-dasharray="2 2" d="M{x:.1f} 0V{_HEIGHT - _FOOT}"/>'
        f'<text x="{x + side:.1f}" y="{_HEIGHT - _FOOT - 4}" text-anchor="{anchor}" style="fill:{_WRONG}">× {word}</text>'
    )


def _words(series: Series) -> str:
    """The least and the greatest value at the left, the first and the last step below."""
    finite, low = series.values[np.isfinite(series.values)], _HEIGHT - _FOOT
    ends = [(finite.max(), 10), (finite.min(), low - 2)] if len(finite) and finite.max() > finite.min() else []
    values = [f'<text x="{_SIDE - 6}" y="{y}" text-anchor="end" opacity="0.7">{value:.3g}</text>' for value, y in ends]
    steps = [(series.steps[0], "start", _SIDE), (series.steps[-1], "end", _WIDTH - 2)]
    below = [
        f'<text x="{x}" y="{_HEIGHT - 3}" text-anchor="{anchor}" opacity="0.7">{step:g}</text>'
        for step, anchor, x in (steps if len(series.steps) > 1 else steps[:1])
    ]
    return "".join([*values, *below])
