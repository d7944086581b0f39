"""Make the `Snapshot` of a run, for outputs that remain without a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets.checks import severity_of
from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.events.cut import cut
from jax_debug_widgets.session.panel.feed import shown
from jax_debug_widgets.session.panel.overview import facts, groups, numbers
from jax_debug_widgets.session.run.first_nonfinite import birth, first_nonfinite_text
from jax_debug_widgets.session.run.headline import headline, numbers_of
from jax_debug_widgets.session.run.nonfinite import counted
from jax_debug_widgets.widgets import Course, PrintLine, Problem, Snapshot

if TYPE_CHECKING:
    from jax_debug_widgets.events import CallSite, Finding
    from jax_debug_widgets.session.run.naming import SelectedValue
    from jax_debug_widgets.session.run.view import RunView

_LINES, _CHARACTERS, _LINES_OF_ONE = 100, 400, 8
_CHARACTERS_IN_ALL = 20_000
_LOOKED_THROUGH, _AT_ONCE = 500_000, 20_000
_COURSES = 64
"""The most watched values in a saved notebook, each with its first and last number. More would make the file large."""


def snapshot_of(run: RunView, *, lines: bool = True) -> Snapshot:
    """Return the snapshot of a run as it is now; with `lines=False`, without lines and charts."""
    run.collect()
    sites = run.store.sites()
    ordered, unordered = (_last_lines(run, sites, ordered=ordered) if lines else [] for ordered in (True, False))
    shown_sites = [site for site in sites if site.id not in run.copies]
    chosen = headline(shown_sites)
    drawn = numbers(run)
    calls = [call for call in run.call_log.calls()[0] if shown(call)]
    return Snapshot(
        status=replace(run.status(), notes=tuple(run.notes)),
        sites=shown_sites,
        counts=run.store.seen_by_site(),
        ordered=ordered,
        unordered=unordered,
        series=[series for series, _ in drawn] if lines else [],
        groups=groups(run) if lines else [],
        facts=facts(run, drawn, calls),
        courses=_courses(run, chosen),
        nonfinite={site: counted(found) for site, found in run.store.nonfinite().items()},
        findings=[_problem(finding) for finding in sorted(run.findings, key=severity_of)],
        calls=calls,
        dropped_calls=run.call_log.dropped,
        first_nonfinite=first_nonfinite_text(run, birth(run.found_so_far(), run, run.status().notes)),
        file=run.file,
        name=run.name,
        cell=run.cell,
    )


def _last_lines(run: RunView, sites: Sequence[CallSite], *, ordered: bool) -> list[PrintLine]:
    """Return the newest lines of one stream, as many as a notebook keeps."""
    wanted = {site.id: site for site in sites if site.ordered is ordered and site.kind != "watch"}
    positions = _last_of(run, wanted)
    texts, left, lines = run.texts.of(positions), _CHARACTERS_IN_ALL, []
    for position in positions.tolist()[::-1]:
        text = texts.get(position)
        event = next(iter(run.store.range(position, position + 1)), None)
        if text is None or event is None:  # The event was dropped in the meantime, and so were all older ones.
            break
        text = cut(text, _CHARACTERS, _LINES_OF_ONE)
        left -= len(text)
        if left < 0:
            break
        lines.append(PrintLine(event.site, event.occurrence, event.lane, text, event.phantom))
    return lines[::-1]


def _last_of(run: RunView, sites: dict[int, CallSite]) -> np.ndarray:
    """Return the positions of the newest events of these sites, ascending."""
    if not sites:
        return np.zeros(0, np.int64)
    stop, found, ids = len(run.store), [np.zeros(0, np.int64)], list(sites)
    for end in range(stop, max(run.store.oldest, stop - _LOOKED_THROUGH), -_AT_ONCE):
        pieces = run.store.columns(max(end - _AT_ONCE, 0), end)
        found[:0] = [piece.first + np.flatnonzero(np.isin(piece.site, ids)) for piece in pieces]
        if sum(map(len, found)) >= _LINES:
            break
    return np.concatenate(found)[-_LINES:]


def _courses(run: RunView, chosen: Sequence[tuple[SelectedValue, str]]) -> dict[int, Course]:
    """Return site id -> the first and last number of a watched value."""
    found = {}
    for choice, name in chosen:
        if choice.site.watch is not None and len(found) < _COURSES:
            values = numbers_of(run.store, choice)
            if values is not None:
                statistic = choice.site.values[choice.value].removeprefix("value")
                found[choice.site.id] = Course(choice.site, name, statistic, float(values[0]), float(values[-1]))
    return found


def _problem(finding: Finding) -> Problem:
    if not finding.headline:
        return Problem(finding.message)
    where = finding.where or (finding.site.where if finding.site else "")
    headline = f"{where}: {finding.headline}" if where else finding.headline
    later = f"{plural(len(finding.followed_by), 'other')} later." if finding.followed_by else ""
    return Problem(headline, " ".join(filter(None, (finding.why, later, finding.advice))), finding.fix)
