"""What the saved picture of a run has: facts, the numbers, and the lines that are drawn together.

The rules are those of the panel's overview (`js/src/views/overview/contents.ts`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.session.panel.words import gone_from, seconds
from jax_debug_widgets.session.run.groups import Path, hues_of, is_bias, kind_of, path_of
from jax_debug_widgets.session.run.headline import counts, headline, numbers_of, pace_of, pace_of_calls, rank_of
from jax_debug_widgets.session.run.naming import Choice
from jax_debug_widgets.session.run.nonfinite import nonfinite_findings
from jax_debug_widgets.session.run.thinning import thinned
from jax_debug_widgets.widgets import Fact, Group, GroupLine, Series

if TYPE_CHECKING:
    from jax_debug_widgets.events import Call, CallSite, Finding
    from jax_debug_widgets.session.run.view import RunView

_SERIES, _LINES, _STRETCHES = 4, 24, 100
_EXPRESSION = 4
"""See `rank_of`."""

_STREAMED = 64
"""A loop of more steps than that hands over its events while it runs."""

_LEAST_NAME = 3
"""Characters of a name that says what it holds."""


def numbers(run: RunView) -> list[tuple[Series, int]]:
    """The curves of the first numbers, each with its rank; what is printed and watched under one name has one."""
    told = [(choice, name) for choice, name in headline(run.store.sites()) if _is_number(choice)]
    printed = {choice.name for choice, _ in told if choice.site.watch is None}
    ranked = sorted(
        (
            (rank_of(name, forward=choice.site.phase == "forward", watched=bool(choice.site.watch)), choice, name)
            for choice, name in told
        ),
        key=lambda one: one[0],
    )
    named = [one for one in ranked if one[0] < _EXPRESSION] or ranked
    drawn: list[tuple[int, Choice, str, np.ndarray]] = []
    for rank, choice, name in named:
        if choice.site.watch and choice.name in printed:
            continue
        values = numbers_of(run.store, choice)
        if (
            values is None
            or counts(values)
            or any(
                name == other and np.array_equal(values, same, equal_nan=True)
                for _, _, other, same in drawn
                if values.dtype.kind == "f"
            )
        ):
            continue
        drawn.append((rank, choice, name, values))
        if len(drawn) == _SERIES:
            break
    steps_of = run.store.steps_of({choice.site.id for _, choice, _, _ in drawn})
    found = []
    for rank, choice, name, values in drawn:
        steps, both = _alike(steps_of[choice.site.id], values.astype(np.float64))
        chosen = thinned(both, _STRETCHES)
        found.append((Series(choice.site, name, steps[chosen], both[chosen]), rank))
    return found


def _is_number(choice: Choice) -> bool:
    watch = choice.site.watch
    if watch is None:
        return True
    path = path_of(watch.name)
    is_tree = path is not None and path.leaf != "" and kind_of(path.root) != ""
    return (
        watch.role == "value"
        and watch.shape == ()
        and choice.site.values[choice.value] == "value"
        and watch.primitive != "argument"
        and not is_tree
    )


def _alike(steps: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The newest of both: events may have come, or gone, between the two."""
    both = min(len(steps), len(values))
    return steps[len(steps) - both :], values[len(values) - both :]


def groups(run: RunView) -> list[Group]:
    """The norms of gradients, and how widely activations are spread; without lines where there are none."""
    watched = [site for site in run.store.sites() if site.watch is not None]
    gradients, activations = _gradients(watched), _activations(watched)
    return [
        Group("Gradient norms", "", True, _lines(run, gradients, "l2")),
        Group("Activations", "std", False, _lines(run, activations, "std")),
    ]


def _gradients(watched: Sequence[CallSite]) -> list[tuple[CallSite, Path]]:
    """Those of parameters; where none is known as such, of all named arrays."""
    parameters: dict[tuple[str, str], tuple[CallSite, Path]] = {}
    others = []
    for site in watched:
        watch = site.watch
        path = path_of(watch.name) if watch else None
        if watch is None or path is None or site.phase == "recompute":
            continue
        if watch.role == "value":
            is_sure = path.leaf != "" or len(path.root) >= _LEAST_NAME or site.phase == "backward"
            if kind_of(path.root) == "gradient" and is_sure:
                parameters.setdefault(path.key, (site, path))
        elif path.leaf != "" and kind_of(path.root) == "parameter":
            parameters.setdefault(path.key, (site, path))
        elif watch.shape:
            others.append((site, Path(path.root, watch.name, "")))
    return list(parameters.values()) or others


def _activations(watched: Sequence[CallSite]) -> list[tuple[CallSite, Path]]:
    found: dict[str, tuple[CallSite, Path]] = {}
    for site in watched:
        watch = site.watch
        path = path_of(watch.name) if watch and watch.role == "value" else None
        if (
            watch is None
            or path is None
            or not watch.shape
            or site.phase != "forward"
            or "float" not in str(watch.dtype)
        ):
            continue
        is_tree = path.leaf != "" and kind_of(path.root) != ""
        if (
            watch.primitive == "argument"
            or is_tree
            or re.search("grad|update|params|^opt|state$", path.root, re.IGNORECASE)
        ):
            continue
        found.setdefault(watch.name, (site, Path(path.root, watch.name, "")))
    return list(found.values())


def _lines(run: RunView, found: Iterable[tuple[CallSite, Path]], statistic: str) -> list[GroupLine]:
    chosen = []
    for site, path in found:
        name = statistic if statistic in site.values else "value" if site.watch and site.watch.shape == () else None
        values = numbers_of(run.store, Choice(site, list(site.values).index(name))) if name else None
        if values is not None and len(chosen) < _LINES:
            chosen.append((site, path, np.abs(values.astype(np.float64))))
    if any(path.leaf for _, path, _ in chosen):
        chosen.sort(
            key=lambda one: [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", one[1].group)]
        )
    hues = hues_of((_name(path), float(values[-1])) for _, path, values in chosen)
    steps_of = run.store.steps_of({site.id for site, _, _ in chosen})
    lines = []
    for site, path, values in chosen:
        steps, both = _alike(steps_of[site.id], values)
        kept = thinned(both, _STRETCHES // 2)
        leaf = path.leaf if path.group else ""
        lines.append(GroupLine(_name(path), leaf, hues[_name(path)], is_bias(path.leaf), steps[kept], both[kept]))
    return lines


def _name(path: Path) -> str:
    return path.group or path.leaf or path.root


def facts(run: RunView, drawn: Sequence[tuple[Series, int]], calls: Sequence[Call]) -> list[Fact]:
    """How far, how fast, how good, what is wrong; what is not known is not among them."""
    found = []
    if drawn:
        lead = drawn[0][0].site
        steps = run.store.steps_of([lead.id])[lead.id]
        number = int(steps[-1]) + 1 if len(steps) else 0
        if number:
            found.append(Fact("Steps" if number > 1 else "Step", f"{number:,}", f"in {seconds(run.status().elapsed)}"))
        pace = _pace(run, lead.id, steps, calls) if number else None
        if pace is not None:
            found.append(Fact("A step", seconds(pace), "with all around it"))
    for rank in (0, 1):
        one = next((series for series, own in drawn if own == rank), None)
        if one is not None:
            bad = not np.isfinite(one.values[-1])
            found.append(Fact(one.name, gone_from(one.values[0], one.values[-1]), one.site.where, bool(bad)))
    odd = nonfinite_findings(run)
    if odd and odd[0].site is not None:
        found.append(_first_odd(run, odd[0]))
    if run.findings:
        found.append(Fact("Findings", str(len(run.findings)), "wrong or slow", True))
    compiled = _compiled(calls)
    return [*found, compiled] if compiled else found


def _pace(run: RunView, site: int, steps: np.ndarray, calls: Sequence[Call]) -> float | None:
    """By the calls; in a loop so long that its events come while it runs, by their times."""
    positions = run.store.series(site, 0)[0]
    event = next(iter(run.store.range(int(positions[-1]), int(positions[-1]) + 1)), None) if len(positions) else None
    call = next((one for one in calls if event is not None and one.id == event.call), None)
    if call is None:
        return None
    timed = [
        (one.name, one.started_ns * 1e-9, one.compile, None if one.ready_ns is None else one.ready_ns * 1e-9)
        for one in calls
    ]
    pace = pace_of_calls(timed, call.name, int(steps[-1]) + 1)
    if pace is not None:
        return pace
    times = _times(run, positions)
    both = min(len(times), len(steps))
    since = int(np.searchsorted(times[len(times) - both :], call.started_ns * 1e-9))
    streamed = both - since
    return pace_of(steps[-streamed:], times[-streamed:]) if streamed > _STREAMED else None


def _times(run: RunView, positions: np.ndarray) -> np.ndarray:
    """Seconds since the run started, of the events at these positions."""
    if not len(positions):
        return np.zeros(0)
    pieces = run.store.columns(int(positions.min()), int(positions.max()) + 1)
    where = np.concatenate([piece.first + np.arange(len(piece.site)) for piece in pieces])
    times = np.concatenate([piece.time_ns for piece in pieces])
    return times[np.isin(where, positions)] * 1e-9


def _first_odd(run: RunView, finding: Finding) -> Fact:
    site = finding.site
    assert site is not None
    counted = run.store.nonfinite()[site.id]
    name = f"∂ {site.watch.name}" if site.watch and site.watch.role == "gradient" else site.label
    steps, positions = run.store.steps_of([site.id])[site.id], run.store.series(site.id, 0)[0]
    at = np.flatnonzero(positions == finding.event)
    step = f", step {int(steps[at[0]])}" if len(at) and at[0] < len(steps) else ""
    return Fact("First NaN" if counted.nan else "First infinity", name, f"{finding.where or site.where}{step}", True)


def _compiled(calls: Sequence[Call]) -> Fact | None:
    """How often the function was compiled that was compiled most."""
    compiled = [call for call in calls if call.compile is not None]
    if not compiled:
        return None
    names = [call.name for call in compiled]
    most, functions = max(map(names.count, names)), len(set(names))
    words = f"{most} times" if most > 1 else "once" if functions == 1 else plural(functions, "function")
    took = sum((call.compile or 0) + (call.trace or 0) + (call.lower or 0) for call in compiled)
    return Fact("Compiled", words, seconds(took))
