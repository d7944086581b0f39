"""Draw the overview of a run, facts and charts, as an SVG in an `<img>`, so that a page cannot remove its styles."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape

import numpy as np

from jax_debug_widgets.widgets.snapshot import CurveGroup, Fact, GroupLine, ScalarSeries, Snapshot

_WIDTH, _FACTS, _CHART, _LEGEND = 820, 66, 156, 16
"""In pixels: the width of the picture; the heights of a row of facts, of a chart, and of a line of names below it."""
_WORD_PX, _VALUE_PX = 6.2, 11.0
"""The width of a character in pixels: in labels and notes, and in the large, bold values."""
_LEFT, _TOP, _RIGHT, _FOOT = 54, 26, 12, 18
_LEAST_WIDTH = 520
"""Where there is less room the picture is scrolled: its words would be too small."""
_LAST = 50
"""The width of the last number in the heading of a chart."""
_CHARTS, _LINES, _POINTS = 4, 24, 2400
"""The most charts of numbers, lines of a chart and points of a chart."""
_LEGENDS, _FIGURES = 8, 6
"""The most names below a chart, and the characters of a number beside its axis."""
_STYLE = (
    "svg{--bg:#fff;--fg:#1b1f24;--fg2:#4d555e;--line:#e1e4e8;--bad:#c62828;"
    "--h0:#2a6fd6;--h1:#0c8f86;--h2:#b8408f;--h3:#76820f;--h4:#68707a}"
    "@media(prefers-color-scheme:dark){svg{--bg:#14171b;--fg:#e4e7eb;--fg2:#b3bac2;--line:#2b3138;--bad:#ff8a83;"
    "--h0:#69a8ff;--h1:#3cc2b4;--h2:#f083bd;--h3:#b9c353;--h4:#9aa4ae}}"
    'text{font:11px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;fill:var(--fg2)}'
    ".v{font-size:17px;font-weight:600;fill:var(--fg)}.t{font-weight:600;fill:var(--fg)}.b{fill:var(--bad)}"
    "path{fill:none;stroke-width:1.4;stroke-linejoin:round;stroke-linecap:round}"
    ".l{fill:currentColor;fill-opacity:.18;stroke:none}"
    ".r{stroke:var(--line)}.x{stroke:var(--bad)}"
)


def picture(snapshot: Snapshot) -> str:
    """Return the picture as an `<img>`; empty if there is nothing to show. Its text alternative has the facts."""
    svg = drawing(snapshot)
    if not svg:
        return ""
    data = base64.b64encode(svg.encode("utf-8", "backslashreplace")).decode()
    words = ", ".join(f"{fact.label} {fact.value} ({fact.note})" for fact in snapshot.facts) or "charts"
    return (
        '<div role="group" aria-label="Overview" tabindex="0" style="overflow-x:auto">'
        f'<img alt="{escape(words)}" style="display:block;width:100%;min-width:{_LEAST_WIDTH}px;max-width:{_WIDTH}px" '
        f'src="data:image/svg+xml;base64,{data}"></div>'
    )


def drawing(snapshot: Snapshot) -> str:
    """Return the picture as SVG; empty if there is nothing to show."""
    numbers, groups = _by_name(snapshot.series), [group for group in snapshot.groups if group.lines]
    charts = [*numbers[:1], *groups[:1], *numbers[1:], *groups[1:]]  # As in the panel: the loss, then the gradients.
    if not (charts or snapshot.facts):
        return ""
    parts, top = _facts(snapshot.facts)
    wide = _WIDTH // 2
    for number in range(0, len(charts), 2):
        row = charts[number : number + 2]
        height = _CHART + _LEGEND * max(_rows(group) for group in row)
        for column, group in enumerate(row):
            parts.append(f'<g transform="translate({column * wide},{top})">{_chart(group, wide)}</g>')
        top += height
    ground = f'<rect width="{_WIDTH}" height="{top}" fill="var(--bg)"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{top}" viewBox="0 0 {_WIDTH} {top}">'
        f"<style>{_STYLE}</style>{ground}{''.join(parts)}</svg>"
    )


def _by_name(series: Sequence[ScalarSeries]) -> list[CurveGroup]:
    """Make a chart for each name. If a name occurs at several places, each place is a line with the place as its name."""
    names = list(dict.fromkeys(one.name for one in series))[:_CHARTS]
    each = [(name, [one for one in series if one.name == name]) for name in names]
    return [
        CurveGroup(
            name,
            _place(own[0]) if len(own) == 1 else "",
            False,
            [
                GroupLine(one.site.where if len(own) > 1 else "", "", i, False, one.steps, one.values, one.lanes)
                for i, one in enumerate(own)
            ],
        )
        for name, own in each
    ]


def _place(one: ScalarSeries) -> str:
    return f"{one.site.where}, {one.lanes.count} lanes" if one.lanes else one.site.where


def _facts(facts: Sequence[Fact]) -> tuple[list[str], int]:
    """Lay the facts out in rows, each as wide as its words. Return their SVG, and their height."""
    parts, x, y = [], 0.0, 0
    for fact in facts:
        wide = min(16 + max(_WORD_PX * max(len(fact.label), len(fact.note)), _VALUE_PX * len(fact.value)), _WIDTH)
        if x > 0 and x + wide > _WIDTH:
            x, y = 0, y + _FACTS
        parts.append(_text(x + 12, y + 18, fact.label))
        parts.append(
            _text(x + 12, y + 39, _cut(fact.value, int((_WIDTH - 16) / _VALUE_PX)), "v b" if fact.bad else "v")
        )
        parts.append(_text(x + 12, y + 56, _cut(fact.note, int((_WIDTH - 16) / _WORD_PX))))
        x += wide
    return parts, y + _FACTS if facts else 0


def _chart(group: CurveGroup, wide: int) -> str:
    """Draw a title, axes, lines, a mark at the first value that is not finite, and the names of the lines."""
    lines = group.lines[:_LINES]
    each = max(24, _POINTS // len(lines))
    drawn = [_thinned(_positive(line) if group.logarithmic else line, each) for line in lines]
    steps = np.concatenate([line.steps for line in drawn])
    numbers = np.concatenate([y for line in drawn for y in _heights(line)])
    shown = numbers[np.isfinite(numbers) & ((numbers > 0) | (not group.logarithmic))]
    low, high = (float(shown.min()), float(shown.max())) if len(shown) else (0.0, 1.0)
    first, last = float(steps.min()), float(steps.max())
    across = (wide - _LEFT - _RIGHT) / (last - first if last > first else 1.0)
    tall = _CHART - _TOP - _FOOT - 8

    def at(y: np.ndarray) -> np.ndarray:
        shape = np.log10 if group.logarithmic else (lambda one: one)
        with np.errstate(all="ignore"):
            y, least, most = (shape(one) for one in (y, np.float64(low), np.float64(high)))
            half = y / 2 - least / 2, most / 2 - least / 2  # Halves, so that no difference overflows.
            return _TOP + tall * (1 - (half[0] / half[1] if half[1] > 0 else half[0] * 0 + 0.5))

    title = _cut(group.title, 44)
    note = ", ".join(filter(None, (group.note, "log" if group.logarithmic else "")))
    beside = 20 + 7 * len(title)
    parts = [_text(12, 16, title, "t"), _text(beside, 16, _cut(note, int((wide - _RIGHT - _LAST - beside) / _WORD_PX)))]
    if len(group.lines) == 1:
        parts.append(_text(wide - _RIGHT, 16, f"{group.lines[0].values[-1]:.3g}", anchor="end"))
    for y, value in ((_TOP, high), (_TOP + tall, low)) if high > low else ((_TOP + tall / 2, low),):
        parts.append(
            f'<path class="r" d="M{_LEFT} {y:.0f}H{wide - _RIGHT}"/>{_text(_LEFT - 6, y + 4, _figure(value), anchor="end")}'
        )
    for line in drawn:
        x = _LEFT + (line.steps - first) * across
        parts.append(_band(line, x, at(line.lanes.low), at(line.lanes.high)) if line.lanes else "")
        parts.append(_path(line, x, at(line.values)))
    marks = [(line.steps, line.lanes.marks if line.lanes else line.values) for line in drawn]
    odd = [(x[~np.isfinite(y)], y[~np.isfinite(y)]) for x, y in marks]
    begun = [(float(x[0]), float(y[0])) for x, y in odd if len(x)]
    if begun:
        step, value = min(begun, key=lambda one: one[0])
        x, word = _LEFT + (step - first) * across, "NaN" if math.isnan(value) else "infinite"
        anchor, side = ("start", 4) if x < wide - 70 else ("end", -4)
        parts.append(f'<path class="x" stroke-dasharray="2 2" d="M{x:.1f} {_TOP}V{_TOP + tall}"/>')
        parts.append(_text(x + side, _TOP + tall - 4, f"× {word}", "b", anchor=anchor))
    foot = _TOP + tall + 15
    if last > first:
        parts.append(_text(_LEFT, foot, f"{first:g}"))
    parts.append(_text(wide - _RIGHT, foot, f"step {last:g}", anchor="end"))
    return "".join([*parts, *_names(group, wide)])


def _figure(value: float) -> str:
    """Write a number with three digits; as `1.2e-5` if it has no room beside the axis."""
    text = f"{value:.3g}"
    if len(text) <= _FIGURES:
        return text
    number, _, power = f"{value:.1e}".partition("e")
    return f"{number}e{int(power)}"


def _names(group: CurveGroup, wide: int) -> Iterator[str]:
    """Yield the name of each group of lines, in its colour; nothing if the lines have no groups."""
    legends = _legends(group)
    for number, (name, hue) in enumerate(legends[:_LEGENDS]):
        x, y = 12 + (number % 4) * (wide - 24) / 4, _CHART + 4 + _LEGEND * (number // 4)
        yield f'<path stroke="var(--h{hue})" d="M{x:.0f} {y - 4}h12"/>{_text(x + 17, y, _cut(name, int((wide / 4 - 22) / 6)))}'
    if len(legends) > _LEGENDS:
        yield _text(wide - _RIGHT, 16, f"{len(legends)} in all", anchor="end")


def _legends(group: CurveGroup) -> list[tuple[str, int]]:
    return list({line.group: line.hue for line in group.lines}.items()) if group.lines[0].group else []


def _rows(group: CurveGroup) -> int:
    return math.ceil(min(len(_legends(group)), _LEGENDS) / 4)


def _path(line: GroupLine, x: np.ndarray, y: np.ndarray) -> str:
    pieces, begins = [], True
    for across, down in zip(x.tolist(), y.tolist(), strict=True):
        if math.isfinite(down):  # A number without finite neighbours is a dot.
            pieces.append(f"M{across:.1f} {down:.1f}h0" if begins else f"L{across:.1f} {down:.1f}")
        begins = not math.isfinite(down)
    dashes = ' stroke-dasharray="4 3"' if line.dashed else ""
    return f'<path stroke="var(--h{line.hue})"{dashes} d="{"".join(pieces)}"/>' if pieces else ""


def _band(line: GroupLine, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> str:
    """Fill the range that lanes span, from the least to the greatest number.

    Each stretch of finite numbers is filled separately.
    """
    finite = np.isfinite(low) & np.isfinite(high)
    edges = np.flatnonzero(np.diff(finite.astype(int), prepend=0, append=0)).reshape(-1, 2)
    pieces = []
    for start, end in edges.tolist():
        there = zip(x[start:end].tolist(), low[start:end].tolist(), strict=True)
        back = zip(x[start:end][::-1].tolist(), high[start:end][::-1].tolist(), strict=True)
        pieces.append(f"M{'L'.join(f'{across:.1f} {down:.1f}' for across, down in (*there, *back))}Z")
    return f'<path class="l" color="var(--h{line.hue})" d="{"".join(pieces)}"/>' if pieces else ""


def _heights(line: GroupLine) -> list[np.ndarray]:
    return [line.values] if line.lanes is None else [line.values, line.lanes.low, line.lanes.high]


def _positive(line: GroupLine) -> GroupLine:
    """Leave out the numbers that a logarithmic axis cannot show, as the panel does; keep all if none is positive."""
    chosen = np.flatnonzero(~(line.values <= 0))
    if not len(chosen):
        return line
    return replace(
        line, steps=line.steps[chosen], values=line.values[chosen], lanes=line.lanes and line.lanes.at(chosen)
    )


def _thinned(line: GroupLine, most: int) -> GroupLine:
    """Thin a line to about `most` points: evenly spaced, with both ends and the first value that is not finite."""
    x, y = line.steps.astype(np.float64), line.values.astype(np.float64)
    if len(x) <= most:
        return replace(line, steps=x, values=y)
    odd = np.flatnonzero(~np.isfinite(line.lanes.marks if line.lanes else y))[:1]
    chosen = np.unique([*np.linspace(0, len(x) - 1, most).astype(int).tolist(), *odd.tolist()])
    return replace(line, steps=x[chosen], values=y[chosen], lanes=line.lanes and line.lanes.at(chosen))


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "") -> str:
    about = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{x:.0f}" y="{y:.0f}"{about}>{escape(words)}</text>'


def _cut(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: max(1, most - 1)]}…"
