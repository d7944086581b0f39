"""Choose the content of the saved picture of a run: facts, curves of numbers, and groups of lines.

The rules are those of the panel's overview (`js/src/views/overview/contents.ts`).
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from jax_debug_widgets.events.amounts import in_time, plural
from jax_debug_widgets.session.panel.lane_spread import gathered, lane_spread
from jax_debug_widgets.session.panel.words import gone_from
from jax_debug_widgets.session.run import charted
from jax_debug_widgets.session.run.charted import ChartedLeaf
from jax_debug_widgets.session.run.groups import hues_of, in_loop, is_bias, largest, numbered
from jax_debug_widgets.session.run.headline import numbers_of
from jax_debug_widgets.session.run.lane_numbers import mean_text
from jax_debug_widgets.session.run.naming import SelectedValue
from jax_debug_widgets.session.run.nonfinite import in_lane, nonfinite_findings, on_device
from jax_debug_widgets.session.run.scalars import longest, pace_at, scalars
from jax_debug_widgets.session.run.thinning import thinned
from jax_debug_widgets.widgets import CurveGroup, Fact, GroupLine, ScalarSeries

if TYPE_CHECKING:
    from jax_debug_widgets.events import Call, CallSite, Finding
    from jax_debug_widgets.session.run.view import RunView

_SERIES, _LINES, _STRETCHES = 4, 24, 100
_CODE = re.compile(r"`([^`]*)`")


def numbers(run: RunView) -> list[tuple[ScalarSeries, int]]:
    """Return the curves of the most important numbers, each with its rank."""
    drawn = list(itertools.islice(scalars(run.store, run.copies), _SERIES))
    steps_of = run.store.history.steps_of({one.choice.site.id for one in drawn})
    found = []
    for one in drawn:
        site = one.choice.site
        steps, both = _alike(steps_of[site.id], one.values.astype(np.float64))
        lanes = lane_spread(run.store, site, both) if one.lanes and len(both) else None
        if not one.lanes and (apart := gathered(run.store, site, one.values)):
            steps, both, lanes = apart
        drawn_of = (both,) if lanes is None else (both, lanes.low, lanes.high, lanes.marks)
        chosen = np.unique(np.concatenate([thinned(values, _STRETCHES) for values in drawn_of]))
        spread = lanes and lanes.at(chosen)
        found.append((ScalarSeries(site, one.name, steps[chosen], both[chosen], spread), one.rank))
    return found


def _alike(steps: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut steps and values to their newest common part: events may have come or gone between the two reads."""
    both = min(len(steps), len(values))
    return steps[len(steps) - both :], values[len(values) - both :]


def groups(run: RunView) -> list[CurveGroup]:
    """Return the charts of gradient norms, relative updates and spreads of values; one may have no lines."""
    watched = [site for site in run.store.sites() if site.watch is not None and site.id not in run.copies]
    norms = ((leaf, _norm(run, leaf.site)) for leaf in charted.gradients(watched))
    gradients = ((leaf, norm) for leaf, norm in norms if not _is_of_itself(leaf.site, norm))
    spreads = ((leaf, _statistic(run, leaf.site, "std")) for leaf in charted.activations(watched))
    ratios = ((leaf, _ratio(run, leaf.site, beside.site)) for leaf, beside in charted.ratios(watched))
    return [
        _group("Gradient norms", "", gradients, logarithmic=True),
        _group("Update / weight", "", ratios, logarithmic=True),
        _group("Std of values", "", _distinguished(run, spreads), logarithmic=False),
    ]


_NEWEST = ("min", "max", "mean", "std")
"""The statistics that are compared to find out whether two names have the same value."""

_Curve = tuple[np.ndarray, np.ndarray]
"""Steps and numbers."""


def _statistic(run: RunView, site: CallSite, name: str) -> _Curve | None:
    """Return a statistic of a site over its steps. It is NaN where the value was not finite; None if the site lacks it."""
    values = _column(run, site, name)
    if values is None:
        return None
    numbers = values.astype(np.float64)
    intended = site.watch.intended if site.watch else ()
    for kind in ("nan", "posinf", "neginf"):
        counts = _column(run, site, kind) if kind not in intended else None
        if counts is not None:
            both = min(len(numbers), len(counts))
            numbers = np.where(counts[-both:] > 0, np.nan, numbers[-both:]) if both else numbers[:0]
    return _alike(run.store.history.steps(site.id), numbers)


def _column(run: RunView, site: CallSite, name: str) -> np.ndarray | None:
    return numbers_of(run.store, SelectedValue(site, list(site.values).index(name))) if name in site.values else None


def _norm(run: RunView, site: CallSite) -> _Curve | None:
    found = _statistic(run, site, "l2" if "l2" in site.values else "value")
    return None if found is None else (found[0], np.abs(found[1]))


def _is_of_itself(site: CallSite, norm: _Curve | None) -> bool:
    """Whether a gradient is the derivative of the loss with respect to the loss itself, which is always 1."""
    is_number = site.watch is not None and site.watch.role == "gradient" and site.watch.shape == ()
    return is_number and norm is not None and bool((norm[1] == 1).all())


def _ratio(run: RunView, update: CallSite, parameter: CallSite) -> _Curve | None:
    """Return the norm of each update divided by the norm of its parameter at that step, without steps where that is 0."""
    step, size = _norm(run, update), _norm(run, parameter)
    if step is None or size is None:
        return None
    both, own, beside = np.intersect1d(step[0], size[0], return_indices=True)
    kept = size[1][beside] != 0
    return both[kept], step[1][own[kept]] / size[1][beside[kept]]


def _distinguished(
    run: RunView, found: Iterable[tuple[ChartedLeaf, _Curve | None]]
) -> Iterator[tuple[ChartedLeaf, _Curve]]:
    """Yield the curves without those that a function and its caller both have; equal names get their line numbers."""
    kept: dict[tuple[object, ...], tuple[ChartedLeaf, _Curve]] = {}
    for leaf, curve in found:
        if curve is not None and len(curve[1]):
            columns = [_column(run, leaf.site, name) for name in _NEWEST]
            newest = [None if one is None or not len(one) else repr(one[-1]) for one in columns]
            kept.setdefault((leaf.path.group, len(curve[1]), *newest), (leaf, curve))
    names = Counter(leaf.path.group for leaf, _ in kept.values())
    labels = numbered(
        [name if names[name := leaf.path.group] == 1 else f"{name} :{leaf.site.line}" for leaf, _ in kept.values()]
    )
    for (leaf, curve), own in zip(kept.values(), labels, strict=True):
        yield ChartedLeaf(leaf.site, replace(leaf.path, group=own)), curve


def _group(
    title: str, note: str, found: Iterable[tuple[ChartedLeaf, _Curve | None]], *, logarithmic: bool
) -> CurveGroup:
    read = [(leaf.path, curve) for leaf, curve in found if curve is not None]
    all_of_them = in_loop(read, lambda one: len(one[1][1]))
    chosen = [all_of_them[one] for one in largest([float(values[-1]) for _, (_, values) in all_of_them], _LINES)]
    more = len(all_of_them) - len(chosen)
    if any(path.leaf for path, _ in chosen):
        chosen.sort(key=lambda one: (_by_numbers(one[0].group), is_bias(one[0].leaf)))
    hues = hues_of((path.title, float(values[-1])) for path, (_, values) in chosen)
    lines = []
    for path, (steps, values) in chosen:
        kept = thinned(values, _STRETCHES // 2)
        leaf = path.leaf if path.group else ""
        lines.append(GroupLine(path.title, leaf, hues[path.title], is_bias(path.leaf), steps[kept], values[kept]))
    left = f"the {len(chosen)} largest, {more} more in the panel" if more > 0 else ""
    return CurveGroup(title, ", ".join(filter(None, (note, left))), logarithmic, lines)


def _by_numbers(name: str) -> list[int | str]:
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name.casefold())]


def facts(run: RunView, drawn: Sequence[tuple[ScalarSeries, int]], calls: Sequence[Call]) -> list[Fact]:
    """Return the facts at the top of the overview, as far as they are known.

    They are the number of steps, the time of a step, the first two numbers, the first NaN, the findings and the compilations.
    """
    found = []
    lead = drawn[0][0].site.id if drawn else longest(run.store, run.copies)
    if lead is not None:
        steps = run.store.history.steps(lead)
        number = int(steps[-1]) + 1 if len(steps) else 0
        if number:
            took = _time_of_steps(run.status().elapsed, _compiling(calls))
            found.append(Fact("Steps" if number > 1 else "Step", f"{number:,}", took))
        pace = pace_at(run.store, calls, lead, steps, run.status().resumed) if number and drawn else None
        if pace is not None:
            found.append(Fact("A step", in_time(pace), "wall time of recent steps"))
    for rank in (0, 1):
        one = next((series for series, own in drawn if own == rank), None)
        if one is not None:
            found.append(_course(one))
    odd = nonfinite_findings(run)
    findings = run.findings
    if odd and odd[0].site is not None:
        found.append(_first_odd(run, odd[0]))
    elif born := born_of(findings):
        found.append(born)
    if findings:
        found.append(Fact("Findings", str(len(findings)), "wrong or slow", True))
    elif checked := run.status().checked:
        found.append(Fact(checked, "found nothing", ""))
    compiled = _compiled(calls)
    return [*found, compiled] if compiled else found


def _course(one: ScalarSeries) -> Fact:
    """Return the fact about a number: its first and its last value; with lanes, the means over the lanes."""
    lanes = one.lanes
    note = one.site.where if lanes is None else f"{one.site.where}, {mean_text(lanes.count, lanes.bad)}"
    is_bad = not np.isfinite(one.values[-1]) or (lanes is not None and lanes.bad > 0)
    return Fact(one.name, gone_from(one.values[0], one.values[-1]), note, bool(is_bad))


def _first_odd(run: RunView, finding: Finding) -> Fact:
    site = finding.site
    assert site is not None
    first = run.status().first_nonfinite
    name = (
        f"∂ {site.watch.name}"
        if site.watch and site.watch.role == "gradient"
        else _odd_value(run, finding) or site.label
    )
    steps, positions = run.store.history.steps(site.id), run.store.history.series(site.id, 0)[0]
    at = np.flatnonzero(positions == finding.event)
    step = f", step {int(steps[at[0]])}" if len(at) and at[0] < len(steps) else ""
    kind = "First NaN" if first and first.nan else "First infinity"
    event = finding.event
    device = "".join(map(on_device, run.store.range(event, event + 1))) if event is not None else ""
    return Fact(kind, name, f"{(first and first.where) or site.where}{step}{in_lane(finding.lane)}{device}", True)


def born_of(findings: Sequence[Finding]) -> Fact | None:
    """Return the fact about the NaN that `--check nonfinite` found; None without one.

    The finding's headline has the name of the value in backticks.
    """
    first = next((one for one in findings if one.kind == "nonfinite"), None)
    if first is None:
        return None
    named = _CODE.search(first.headline)
    kind = "First NaN" if "NaN" in _CODE.sub("", first.headline) else "First infinity"
    return Fact(kind, named[1] if named else first.headline, f"{first.where}{in_lane(first.lane)}", True)


def _odd_value(run: RunView, finding: Finding) -> str:
    """Return the name of the printed value that is not finite; empty for a watched value, and if the name is not known."""
    site, at = finding.site, finding.event
    event = next(iter(run.store.range(at, at + 1)), None) if at is not None else None
    if site is None or site.watch is not None or event is None:
        return ""
    named = zip(site.values, event.values, strict=False)
    return next((name for name, value in named if not np.isfinite(_as_numbers(value)).all()), "")


def _as_numbers(value: Any) -> np.ndarray:
    array = np.asarray(value)
    return array if array.dtype.kind in "fc" else array.astype(np.float64) if array.dtype.kind == "V" else np.zeros(())


def _compiled(calls: Sequence[Call]) -> Fact | None:
    """Return the fact about compilations: how often, how many functions, in what time; None without one."""
    names = [call.of for call in calls if call.compile is not None]
    if not names:
        return None
    functions = plural(len(set(names)), "function")
    words = "once" if len(names) == 1 else functions if len(set(names)) == len(names) else f"{len(names)} times"
    count = f"{functions}, " if words.endswith("times") and len(set(names)) > 1 else ""
    took, by_numba = _compiling(calls), sum(call.numba or 0 for call in calls if call.compile is not None)
    numba = f", {in_time(by_numba)} of it Numba" if by_numba > 0 and took / 10 <= by_numba else ""
    return Fact("Compiled", words, f"{count}{in_time(took)}{numba}")


def _compiling(calls: Sequence[Call]) -> float:
    """Return the seconds in which calls were traced, lowered and compiled, with those of Numba."""
    compiled = [call for call in calls if call.compile is not None]
    return sum(part or 0 for call in compiled for part in (call.trace, call.numba, call.lower, call.compile))


def _time_of_steps(elapsed: float, compiling: float) -> str:
    """Write the time of the run, with the time of compiling if that is a tenth or more of it."""
    is_much = elapsed / 10 <= compiling <= elapsed
    return f"in {in_time(elapsed)}" + (f", {in_time(compiling)} of it compiling" if is_much and compiling > 0 else "")
