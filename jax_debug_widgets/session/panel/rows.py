"""Make the rows of a table of runs. The twin of `js/src/store/rows.ts`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict

from jax_debug_widgets.events.amounts import plural_came
from jax_debug_widgets.session.run.run_summary import RunSummary, outline
from jax_debug_widgets.session.run.saved import plain_config

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.compare import RunRow
    from jax_debug_widgets.session.run.view import RunView

_OUTLINED_S = 1.0
"""Seconds between two summaries of the events of a run that goes on."""

_SHARE = 1 / 20
"""The largest share of time spent on summaries."""


class Row(TypedDict):
    """One run of the table.

    `state` is the state of the run, or `paused` at a stop. `name` is empty for a run without a name; `cell` is null without a
    cell. `events` is the number of events. `started` is in seconds since the epoch; `elapsed` and `waited` are in seconds.
    `last` is the newest number of `value`, the most important value; it is text if not finite, null without one. `step_ms` is
    the milliseconds of a recent step, null if not known. `gone` says in words what is no longer in memory. `file` is the file
    that the run was read from. `saved` is how often its static picture was made; `data-jaxdebug-saved` of an output says which
    of these pictures it has.
    """

    key: str
    title: str
    name: str
    cell: int | None
    asked: str
    config: dict[str, Any]
    state: str
    started: float
    elapsed: float
    events: int
    steps: int
    value: str
    last: float | str | None
    step_ms: float | None
    findings: int
    gone: str
    file: str
    barrier: str
    pending: list[str]
    waited: float
    saved: int


class RunRows:
    """Makes rows, and keeps the summaries of runs that have not changed, because they take long."""

    def __init__(self, written: Callable[[RunView], int]) -> None:
        """Start without rows; `written` returns how often a run's static picture was made."""
        self._written = written
        self._outlines: dict[str, tuple[tuple[int, int], float, RunSummary]] = {}

    def of(self, run: RunView) -> Row:
        """Return the row of a run as it is now."""
        status = run.status()
        goes_on = status.state in ("running", "waiting")
        summary, released = self._outline(run, goes_on=goes_on), run.store.released
        return Row(
            key=run.key,
            title=status.title,
            name=run.name,
            cell=run.cell,
            asked=run.asked,
            config=sendable(plain_config(run.config)),
            state="paused" if status.paused else status.state,
            started=status.started,
            elapsed=status.elapsed,
            events=status.events,
            steps=summary.steps,
            value=summary.value,
            last=sendable(summary.last),
            step_ms=sendable(summary.ms_a_step),
            findings=status.findings,
            gone=f"the oldest {plural_came(released)} of it are no longer in memory" if released else "",
            file=str(getattr(run, "path", "")),
            barrier=status.barrier.state,
            pending=list(status.barrier.pending),
            waited=status.barrier.waited,
            saved=self._written(run),
        )

    def forget(self, key: str) -> None:
        """Forget a run that is dropped from memory."""
        self._outlines.pop(key, None)

    def _outline(self, run: RunView, *, goes_on: bool) -> RunSummary:
        now, come = time.monotonic(), (len(run.store), run.store.released)
        before, at, summary = self._outlines.get(run.key, ((-1, -1), 0.0, RunSummary()))
        if before == come or (goes_on and now - at < _OUTLINED_S):
            return summary
        summary = outline(run)
        took = time.monotonic() - now
        self._outlines[run.key] = come, now + took / _SHARE, summary
        return summary


def row_of_file(row: RunRow) -> Row:
    """Return the row of a run in a file that was not read whole."""
    return Row(
        key=row.key,
        title=row.title,
        name=row.name,
        cell=row.cell,
        asked=row.asked,
        config=sendable(plain_config(row.config)),
        state=row.state,
        started=row.started,
        elapsed=row.elapsed,
        events=row.events,
        steps=row.outline.steps,
        value=row.outline.value,
        last=sendable(row.outline.last),
        step_ms=sendable(row.outline.ms_a_step),
        findings=row.findings,
        gone="",
        file=str(row.path),
        barrier="off",
        pending=[],
        waited=0.0,
        saved=0,
    )


def sendable(value: Any) -> Any:
    """Replace NaN and infinities, which JSON does not have, by text that JavaScript's `Number` reads."""
    if isinstance(value, dict):
        return {name: sendable(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [sendable(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
