"""What the saved picture of a run has: facts, the numbers, and the lines that are drawn together.

The rules are those of the panel's overview (`js/src/views/overview/contents.ts`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.session.panel.words import gone_from, seconds
from jax_debug_widgets.session.run.groups import Path, hues_of, is_bias, kind_of, path_of
from jax_debug_widgets.session.run.headline import numbers_of
from jax_debug_widgets.session.run.naming import Choice
from jax_debug_widgets.session.run.nonfinite import first_event, nonfinite_findings
from jax_debug_widgets.session.run.scalars import pace_at, scalars
from jax_debug_widgets.session.run.thinning import thinned
from jax_debug_widgets.widgets import Fact, Group, GroupLine, Series

if TYPE_CHECKING:
    from jax_debug_widgets.events import Call, CallSite, Finding
    from jax_debug_widgets.session.run.view import RunView

_SERIES, _LINES, _STRETCHES = 4, 24, 100
_LEAST_NAME = 3
"""Characters of a name that says what it holds."""


def numbers(run: RunView) -> list[tuple[Series, int]]:
    """The curves of the first numbers, each with its rank."""
    drawn = list(itertools.islice(scalars(run.store, run.copies), _SERIES))
    steps_of = run.store.steps_of({one.choice.site.id for one in drawn})
    found = []
    for one in drawn:
        steps, both = _alike(steps_of[one.choice.site.id], one.values.astype(np.float64))
        chosen = thinned(both, _STRETCHES)
        found.append((Series(one.choice.site, one.name, steps[chosen], both[chosen]), one.rank))
    return found


def _alike(steps: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The newest of both: events may have come, or gone, between the two."""
    both = min(len(steps), len(values))
    return steps[len(steps) - both :], values[len(values) - both :]


def groups(run: RunView) -> list[Group]:
    """The norms of gradients, and how widely activations are spread; without lines where there are none."""
    watched = [site for site in run.store.sites() if site.watch is not None and site.id not in run.copies]
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
        pace = pace_at(run.store, calls, lead.id, steps, run.status().resumed) if number else None
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


def _first_odd(run: RunView, finding: Finding) -> Fact:
    site = finding.site
    assert site is not None
    first = first_event(run)
    name = f"∂ {site.watch.name}" if site.watch and site.watch.role == "gradient" else site.label
    steps, positions = run.store.steps_of([site.id])[site.id], run.store.series(site.id, 0)[0]
    at = np.flatnonzero(positions == finding.event)
    step = f", step {int(steps[at[0]])}" if len(at) and at[0] < len(steps) else ""
    return Fact(
        "First NaN" if first and first.nan else "First infinity", name, f"{finding.where or site.where}{step}", True
    )


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
