"""A run as HTML that needs no program: for saved notebooks, nbconvert, and until the browser's model takes over.

Styles are inline and colours are Jupyter's CSS variables with fallbacks, so that it fits the theme where there is one
and stands in a plain page. Everything that comes from the user's program is escaped: it is text, never HTML.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from html import escape

import numpy as np

from jax_debug_widgets.events import Call
from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.events.numbers import scale_of
from jax_debug_widgets.widgets.snapshot import Line, Series, Snapshot
from jax_debug_widgets.widgets.summary import barrier_words, call_lines

_COLOURS = ("#1565c0", "#c2410c", "#1a7f37", "#8250df", "#a16207", "#be185d")
_BORDER = "1px solid var(--jp-border-color2,#d0d4d9)"
_MUTED = "color:var(--jp-ui-font-color2,#5b6570)"
_MONO = "font-family:var(--jp-code-font-family,ui-monospace,Menlo,Consolas,monospace);font-size:12px"
_WIDTH, _HEIGHT = 220, 56
"""Of one small chart, in pixels."""

_HYDRATE = """<script>(() => {
  const registry = (window.__jaxDebug ??= { waiting: [] });
  for (const el of document.querySelectorAll('[data-jaxdebug-run="%s"]:not([data-jaxdebug-found])')) {
    el.dataset.jaxdebugFound = "";
    registry.attach ? registry.attach(el) : registry.waiting.push(el);
  }
})()</script>"""


def static_html(run: str, snapshot: Snapshot) -> str:
    """The panel as it stands, and a script that lets the browser's model take it over where there is one."""
    return (
        f'<div data-jaxdebug-run="{escape(run)}"><div role="group" aria-label="JAX debug panel" style="border:{_BORDER};'
        "border-radius:6px;overflow:hidden;color:var(--jp-ui-font-color1,#1c2127);"
        'background:var(--jp-layout-color1,#fff);font:13px/1.45 var(--jp-ui-font-family,system-ui,sans-serif)">'
        f"{_header(snapshot)}{_notes(snapshot)}{_streams(snapshot)}{_charts(snapshot.series)}{_calls(snapshot.calls)}"
        f"</div></div>{_HYDRATE % run}"
    )


def _header(snapshot: Snapshot) -> str:
    status = snapshot.status
    dropped = f" · {status.dropped:,} dropped" if status.dropped else ""
    # A notebook that is saved while the cell runs keeps this, whatever has become of the run.
    written = f" · as of {time.strftime('%Y-%m-%d %H:%M:%S')}" if _goes_on(snapshot) else ""
    return (
        f'<div style="padding:6px 10px;border-bottom:{_BORDER};display:flex;gap:10px;align-items:baseline">'
        f'<b>{escape(status.state.capitalize())}</b><code title="{escape(status.title)}" '
        f'style="{_MONO};min-width:0;overflow:hidden;text-overflow:ellipsis;white-space:nowrap">{escape(status.title)}</code>'
        f'<span style="{_MUTED}">{plural(status.events, "event")}{dropped} · {status.elapsed:.2f} s · '
        f"{escape(barrier_words(status.barrier))}{written}</span></div>"
    )


def _goes_on(snapshot: Snapshot) -> bool:
    return snapshot.status.state in ("running", "waiting")


def _notes(snapshot: Snapshot) -> str:
    return "".join(
        f'<div role="note" style="padding:4px 10px;border-bottom:{_BORDER};color:var(--jp-warn-color0,#9a4d00)">'
        f"{escape(note)}</div>"
        for note in snapshot.status.notes
    )


def _streams(snapshot: Snapshot) -> str:
    ordered = _stream("Ordered", snapshot.count(ordered=True), snapshot.ordered)
    unordered = _stream("Unordered", snapshot.count(ordered=False), snapshot.unordered)
    if not (ordered or unordered):
        said = "Nothing had fired when this was written." if _goes_on(snapshot) else "Nothing has fired."
        return f'<div style="padding:14px 10px;{_MUTED}">{said}</div>'
    return f'<div style="display:flex;border-bottom:{_BORDER}">{ordered}{unordered}</div>'


def _stream(name: str, count: int, lines: Sequence[Line]) -> str:
    if not lines:
        return ""
    width = len(str(lines[-1].step))
    rows = "\n".join(_row(line, width) for line in lines)
    hidden = f" · last {len(lines)}" if count > len(lines) else ""
    return (
        '<div style="flex:1;min-width:0">'
        f'<div style="padding:3px 10px;font-weight:600;font-size:11px;{_MUTED}">{name} {count:,}{hidden}</div>'
        f'<pre tabindex="0" role="log" aria-label="{name} stream" style="max-height:220px;overflow:auto;margin:0;'
        f'padding:0 10px 6px;{_MONO}">{rows}</pre></div>'
    )


def _row(line: Line, width: int) -> str:
    return (
        f"<small>{line.step:>{width}}</small>  {escape(line.text)}  <small>{escape(line.site.where)}{line.tags}</small>"
    )


def _charts(series: Sequence[Series]) -> str:
    if not series:
        return ""
    charts = "".join(_chart(one, _COLOURS[index % len(_COLOURS)]) for index, one in enumerate(series))
    return f'<div style="display:flex;flex-wrap:wrap;gap:10px;padding:8px 10px;border-bottom:{_BORDER}">{charts}</div>'


def _chart(series: Series, colour: str) -> str:
    finite = np.isfinite(series.values)
    last = series.values[-1]
    return (
        f'<figure style="margin:0;width:{_WIDTH}px"><figcaption style="display:flex;gap:6px;{_MONO}">'
        f'<b style="color:{colour};overflow:hidden;text-overflow:ellipsis;white-space:nowrap">{escape(series.name)}</b>'
        f'<span style="margin-left:auto">{last:.4g}</span></figcaption>'
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{escape(series.name)}, last value {last:.4g}">'
        f'<polyline fill="none" stroke="{colour}" stroke-width="1.3" points="{_polyline(series, finite)}"/></svg></figure>'
    )


def _polyline(series: Series, finite: np.ndarray) -> str:
    if not finite.any():
        return ""
    x, y = series.steps[finite].astype(float), series.values[finite]
    y = y / scale_of(y)
    across = (x - x[0]) / max(x[-1] - x[0], 1) * (_WIDTH - 4) + 2
    spread = y.max() - y.min()
    down = (_HEIGHT - 3) - (y - y.min()) / (spread if spread > 0 else 1) * (_HEIGHT - 6)
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True))


def _calls(calls: Sequence[Call]) -> str:
    if not calls:
        return ""
    rows = "".join(f'<div style="{_MONO}">{escape(line)}</div>' for line in call_lines(calls)[-20:])
    return f'<details style="padding:4px 10px"><summary style="{_MUTED}">{plural(len(calls), "call")}</summary>{rows}</details>'
