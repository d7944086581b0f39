"""Write a run as HTML that needs no JavaScript: for saved notebooks, nbconvert, and until the browser's model takes over.

Styles are inline, and colours are Jupyter's CSS variables with fallbacks. So the HTML fits a theme, and also works in a plain
page. All text from the user's program is escaped, so that it is never HTML.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from html import escape

from jax_debug_widgets.events import Call
from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.widgets.overview import picture
from jax_debug_widgets.widgets.reload import reload_html, reload_script
from jax_debug_widgets.widgets.snapshot import PrintLine, Problem, Snapshot
from jax_debug_widgets.widgets.summary import barrier_text, call_lines, state_text
from jax_debug_widgets.widgets.table import Table

_BORDER = "1px solid var(--jp-border-color2,#d0d4d9)"
_MUTED = "color:var(--jp-ui-font-color2,#5b6570)"
_WARNING = "color:var(--jp-warn-color0,#9a4d00)"
_WRONG = "color:var(--jp-error-color1,#c62828)"
_MONO = "font-family:var(--jp-code-font-family,ui-monospace,Menlo,Consolas,monospace);font-size:12px"
_INLINE = "font-size:92%;padding:0;background:none;color:inherit;unicode-bidi:isolate"
"""The style of code in a sentence: without the box that a page may draw around it; the words beside it keep their order."""
_BLOCK = f"padding:4px 10px;border-bottom:{_BORDER}"
_RELOAD = f"padding:4px 0;{_MUTED};font:12px/1.45 var(--jp-ui-font-family,system-ui,sans-serif)"
_ESCAPE_CODES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
"""The pattern of escape codes for colours and links in terminals (ECMA-48)."""
_CODE = re.compile(r"`([^`]*)`")
_FINDINGS = 5
"""The most findings that are shown in full."""

_HYDRATE = """<script>(() => {
  const registry = (window.__jaxDebug ??= { waiting: [] });
  for (const el of document.querySelectorAll('[data-jaxdebug-run="%s"]:not([data-jaxdebug-found])')) {
    el.dataset.jaxdebugFound = "";
    if (getComputedStyle(el).colorScheme === "normal") {
      const [red] = getComputedStyle(el.firstElementChild).backgroundColor.match(/\\d+/g) ?? [255];
      el.style.colorScheme = red < 128 ? "dark" : "light";
    }
    registry.attach ? registry.attach(el) : registry.waiting.push(el);
  }%s
})()</script>"""
"""Hands the panel to the browser's model. In a page without a colour scheme, such as an export, the picture in it would be
dark where the reader's system is, on whatever the page has as its background."""


def static_html(run: str, snapshot: Snapshot, number: int = 0) -> str:
    """Return the panel as it is now, with a script that lets the browser's model take it over.

    Args:
      number: counts the pictures that were made of the run. By it a front end sees whether a page has the newest one
        (`js/lab/src/saved.ts`, which also uses the attributes `data-jaxdebug-part`).
    """
    return (
        f'<div data-jaxdebug-run="{escape(run)}" data-jaxdebug-saved="{number}">'
        f'<div role="group" aria-label="JAX debug panel" style="border:{_BORDER};'
        "border-radius:6px;overflow:hidden;color:var(--jp-ui-font-color1,#1c2127);"
        'background:var(--jp-layout-color1,#fff);font:13px/1.45 var(--jp-ui-font-family,system-ui,sans-serif)">'
        f"{_header(snapshot)}{_findings(snapshot)}{picture(snapshot)}{_notes(snapshot)}{_streams(snapshot)}"
        f"{_values(snapshot)}{_calls(snapshot.calls)}</div>{reload_html(snapshot.file, _RELOAD)}</div>"
        f"{_HYDRATE % (run, reload_script(snapshot.file))}"
    )


def _header(snapshot: Snapshot) -> str:
    status = snapshot.status
    dropped = f" · {status.dropped:,} dropped" if status.dropped else ""
    # A notebook that is saved while the cell runs keeps this state, even after the run has ended.
    written = f" · as of {time.strftime('%Y-%m-%d %H:%M:%S')}" if snapshot.goes_on else ""
    return (
        f'<div style="padding:6px 10px;border-bottom:{_BORDER};display:flex;flex-wrap:wrap;gap:0 10px;align-items:baseline">'
        f'<b data-jaxdebug-part="state">{escape(state_text(snapshot, saved=True).capitalize())}</b>'
        f"{_called(snapshot)}"
        f'<code title="{escape(status.title)}" '
        f'style="{_MONO};min-width:0;overflow:hidden;text-overflow:ellipsis;white-space:nowrap">{escape(status.title)}</code>'
        f'<span data-jaxdebug-part="numbers" style="{_MUTED}">{snapshot.came}{dropped} · '
        f"{status.elapsed:.2f} s · {escape(barrier_text(status.barrier))}{written}</span></div>"
    )


def _called(snapshot: Snapshot) -> str:
    """Write the number of the run's cell, and its name."""
    cell = "" if snapshot.cell is None else f'<span style="{_MUTED};white-space:nowrap">In [{snapshot.cell}]</span>'
    return cell + (f'<bdi style="white-space:nowrap">{escape(snapshot.name)}</bdi>' if snapshot.name else "")


def _findings(snapshot: Snapshot) -> str:
    """Write the findings as HTML: what is wrong emphasised, its reason quietly below it; empty without findings."""
    findings = [_finding(one) for one in snapshot.findings[:_FINDINGS]]
    more = len(snapshot.findings) - _FINDINGS
    rest = [f"<div>… and {plural(more, 'more finding')}</div>"] if more > 0 else []
    lines = "".join([*findings, *rest])
    return lines and f'<div role="note" style="{_BLOCK}">{lines}</div>'


def _finding(problem: Problem) -> str:
    why = f'<div style="{_MUTED};overflow-wrap:anywhere">{_coded(problem.why)}</div>' if problem.why else ""
    fix = escape("\n".join(problem.fix))
    lines = f'<pre style="margin:2px 0 4px;overflow:auto;{_MONO}">{fix}</pre>' if fix else ""
    return f'<div style="{_WRONG};font-weight:600">{_coded(problem.headline)}</div>{why}{lines}'


def _coded(text: str) -> str:
    """Escape a text, and format text between backticks as code."""
    return _CODE.sub(rf'<code style="{_INLINE}">\1</code>', escape(text))


def _notes(snapshot: Snapshot) -> str:
    return "".join(
        f'<div role="note" style="{_BLOCK};{_MUTED if note == snapshot.status.cost else _WARNING}">{_coded(note)}</div>'
        for note in snapshot.status.notes
    )


def _streams(snapshot: Snapshot) -> str:
    ordered = _stream("Ordered", snapshot.count(ordered=True), snapshot.ordered)
    unordered = _stream("Unordered", snapshot.count(ordered=False), snapshot.unordered)
    if not (ordered or unordered):
        sentence = _nothing(snapshot)
        return f'<div data-jaxdebug-part="lines" style="padding:14px 10px;border-bottom:{_BORDER};{_MUTED}">{sentence}</div>'
    return f'<div data-jaxdebug-part="lines" style="display:flex;border-bottom:{_BORDER}">{ordered}{unordered}</div>'


def _nothing(snapshot: Snapshot) -> str:
    """Return why there are no lines."""
    if any(snapshot.counts.values()):
        return "No prints."
    return (
        "Nothing had been printed or called back when this was written."
        if snapshot.goes_on
        else "No prints or callbacks."
    )


def _stream(name: str, count: int, lines: Sequence[PrintLine]) -> str:
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


def _row(line: PrintLine, width: int) -> str:
    text = escape(_ESCAPE_CODES.sub("", line.text))
    return (
        f"<small>{line.step:>{width}}</small>  <bdi>{text}</bdi>  <small>{escape(line.site.where)}{line.tags}</small>"
    )


def _values(snapshot: Snapshot) -> str:
    """Write the table of watched values: name, place, first and last number."""
    courses = snapshot.courses.values()
    if not courses:
        return ""
    rows = [
        (one.name, one.site.where, one.words, snapshot.nonfinite.get(one.site.id, ""))
        for one in sorted(courses, key=lambda one: (one.site.phase != "forward", one.site.where, one.name))
    ]
    watched = sum(site.watch is not None for site in snapshot.sites)
    table = Table(("value", "where", "first → last", "not finite"), rows)
    more = f", {watched - len(rows)} of them not shown here" if watched > len(rows) else ""
    return _folded(f"{plural(watched, 'watched value')}{more}", table.html())


def _calls(calls: Sequence[Call]) -> str:
    lines = "".join(f'<div style="{_MONO}">{escape(line)}</div>' for line in call_lines(calls)[-20:])
    return lines and _folded(plural(len(calls), "call"), lines)


def _folded(summary: str, content: str) -> str:
    return f'<details style="{_BLOCK}"><summary style="{_MUTED}">{summary}</summary>{content}</details>'
