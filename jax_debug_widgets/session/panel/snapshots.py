"""A run as a `Snapshot`, for outputs that live on without a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets.events import told_apart
from jax_debug_widgets.session.panel.feed import shown
from jax_debug_widgets.session.run.nonfinite import counted
from jax_debug_widgets.session.run.report import first_nonfinite
from jax_debug_widgets.widgets import Line, Series, Snapshot

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.run import Run

_LINES = 100
_SCANNED = 5_000
_SERIES = 24
_POINTS = 200
"""What a saved notebook keeps of a run: enough to see what happened, not so much that it weighs."""


def snapshot_of(run: Run) -> Snapshot:
    """The run now."""
    run.collect()
    sites = run.store.sites()
    ordered, unordered = _last_lines(run)
    return Snapshot(
        status=run.status(),
        sites=sites,
        counts=run.store.seen_by_site(),
        ordered=ordered,
        unordered=unordered,
        series=_series(run),
        nonfinite={site: counted(found) for site, found in run.store.nonfinite().items()},
        calls=[call for call in run.call_log.calls()[0] if shown(call)],
        dropped_calls=run.call_log.dropped,
        first_nonfinite=first_nonfinite(run),
    )


def _last_lines(run: Run) -> tuple[list[Line], list[Line]]:
    streams: dict[bool, list[Line]] = {True: [], False: []}
    stop = len(run.store)
    for position in range(stop - 1, max(run.store.oldest, stop - _SCANNED) - 1, -1):
        try:
            event = run.store.event(position)
        except IndexError:  # Dropped in the meantime: older ones are as well.
            break
        if event.kind == "watch":
            continue
        stream = streams[event.ordered]
        if len(stream) < _LINES:
            stream.append(Line(event.site, event.occurrence, event.lane, event.text, event.phantom))
        elif len(streams[not event.ordered]) >= _LINES:
            break
    return streams[True][::-1], streams[False][::-1]


def _series(run: Run) -> list[Series]:
    found, callers = [], told_apart(run.store.sites())
    for site in run.store.sites():
        for value, name in enumerate(site.values):
            if len(found) == _SERIES:
                return found
            if site.watch is not None and name not in ("value", "mean"):
                continue
            try:
                steps, (_, _, values) = run.store.steps(site.id), run.store.series(site.id, value)
            except ValueError:  # Of several shapes: no line can be drawn.
                continue
            if values.ndim == 1 and len(values) and values.dtype.kind != "c":
                chosen = np.unique(np.linspace(0, len(values) - 1, _POINTS).astype(int))
                caller = callers.get(site.id)
                full_name = f"{name} · {caller}" if caller else name
                found.append(Series(site, full_name, steps[chosen], values[chosen].astype(np.float64)))
    return found
