"""Measure the cost of a program's debugging calls and callbacks: compile it with them, without each one, and without all."""

from __future__ import annotations

import contextlib
import io
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from jax_debug_widgets._jax.origins.describe import function_name
from jax_debug_widgets._jax.studies.cost import Compilation, Variations, seconds_of
from jax_debug_widgets.session.studies.cost_report import CostReport, SiteCost
from jax_debug_widgets.session.studies.event_cost import event_cost
from jax_debug_widgets.taps.sites import NameFile

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.equation import DebugCall

COMPILE_SECONDS = 60.0
"""The default seconds after which no more programs without one of the calls are compiled."""

_RUNS = 5
"""The number of measured runs of each program, if the user asks for a measurement."""


def cost(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name_file: NameFile,
    *,
    timeout: float | None,
    run: bool,
) -> CostReport:
    """Return the cost of the calls in `function(*args, **kwargs)`, which is traced and compiled as a jitted function.

    Args:
      name_file: makes the name of a file for people.
      timeout: seconds after which no more programs without one of the calls are compiled.
      run: whether to run the program, and the program without all calls. Their prints are not shown.

    Raises:
      Exception: the error that tracing or running the function raises.
    """
    started = time.monotonic()
    program = Variations(function, args, kwargs)
    groups = _groups(program.equations)
    removable = {index for group in groups for index in group if _is_removable(program.equations[index])}
    whole, bare = program.without(set()), program.without(removable)
    sites = []
    for group in groups:
        site = _site([program.equations[index] for index in group], whole, name_file)
        in_time = timeout is None or time.monotonic() - started < timeout
        if removable.issuperset(group) and (in_time or removable == set(group)):
            without = bare if removable == set(group) else program.without(set(group))
            site = _compared(site, whole, without)
        sites.append(site)
    title = function_name(function)
    with_all, without_all = _measured(whole, bare) if run else (None, None)
    return CostReport(
        title,
        tuple(sites),
        _compared(_together(sites), whole, bare),
        whole.temporaries,
        whole.kernels.count,
        whole.kernels.fusions,
        whole.is_cacheable,
        with_all,
        without_all,
    )


def _groups(equations: Sequence[DebugCall]) -> list[list[int]]:
    """Group the equations by their call in the source; return the indices of each group."""
    groups: dict[object, list[int]] = {}
    for index, equation in enumerate(equations):
        key = (equation.frame, equation.kind, equation.ordered, equation.format, equation.vmap_method)
        groups.setdefault(key, []).append(index)
    return list(groups.values())


def _is_removable(equation: DebugCall) -> bool:
    return not equation.results and equation.kind != "sharding"


def _site(mine: Sequence[DebugCall], whole: Compilation, name_file: NameFile) -> SiteCost:
    first = mine[0]
    parts = whole.parts.get(first.frame, ())
    is_partitioned = len(parts) == len(mine) and not first.axes
    if is_partitioned:
        mine = [replace(one, shapes=shapes) for one, shapes in zip(mine, parts, strict=True)]
    firings, nbytes, plain, captured = 0, 0, 0.0, 0.0
    for batch in _batches(mine):
        one, lanes = batch[0], len(batch)
        times = _firings(one) * (whole.devices if is_partitioned else 1) if whole.called[first.frame] else 0
        firings, nbytes = firings + times * lanes, nbytes + times * sum(map(_nbytes, batch))
        if times:
            prints = one.kind in ("print", "log")
            plain += times * lanes * event_cost(prints, one.shapes, one.dtypes).plain
            shapes = tuple((lanes, *shape) for shape in one.shapes) if lanes > 1 else one.shapes
            # A capture has one firing for all lanes; a user's function is called for each lane.
            captured += times * (
                event_cost(True, shapes, one.dtypes).captured
                if prints
                else lanes * event_cost(False, one.shapes, one.dtypes).captured
            )
    return SiteCost(
        where=f"{name_file(first.frame.file)}:{first.frame.line}",
        function=first.format,
        kind=first.kind,
        ordered=first.ordered,
        firings=firings,
        per=_per(mine),
        nbytes=nbytes,
        removable=all(map(_is_removable, mine)),
        partitioned=bool(parts),
        plain=plain,
        captured=captured,
    )


def _batches(equations: Sequence[DebugCall]) -> list[list[DebugCall]]:
    """Group the lanes of a `vmap`, which JAX has unrolled; each other equation is a group."""
    batches: dict[object, list[DebugCall]] = {}
    for number, equation in enumerate(equations):
        key = (equation.name_stack, equation.callers, equation.shapes) if "vmap" in equation.name_stack else number
        batches.setdefault(key, []).append(equation)
    return list(batches.values())


def _firings(equation: DebugCall) -> int:
    devices = math.prod(np.shape(equation.devices)) if equation.devices is not None else 1
    return math.prod(loop.length for loop in equation.loops if loop.length is not None) * devices


def _per(equations: Sequence[DebugCall]) -> str:
    if any(loop.length is None for one in equations for loop in one.loops):
        return "an iteration of its while"
    return "where its branch is taken" if any(one.conditional for one in equations) else "a call"


def _nbytes(equation: DebugCall) -> int:
    return sum(math.prod(s) * d.itemsize for s, d in zip(equation.shapes, equation.dtypes, strict=True))


def _compared(site: SiteCost, whole: Compilation, without: Compilation) -> SiteCost:
    return replace(
        site,
        compiled=True,
        temporaries=(whole.temporaries or 0) - (without.temporaries or 0),
        kernels=whole.kernels.count - without.kernels.count,
        fusions=whole.kernels.fusions - without.kernels.fusions,
        broken=tuple(without.kernels.broken_by(whole.kernels)),
        collectives=dict(whole.kernels.collectives - without.kernels.collectives),
        is_refused=not whole.is_cacheable,
        is_alone=without.is_cacheable and not whole.is_cacheable,
    )


def _together(sites: Sequence[SiteCost]) -> SiteCost:
    return SiteCost(
        where="all",
        function="",
        kind="callback",
        ordered=False,
        firings=sum(site.firings for site in sites),
        per="a call" if all(site.per == "a call" for site in sites) else "at a time",
        nbytes=sum(site.nbytes for site in sites),
        removable=all(site.removable for site in sites),
        plain=sum(site.plain for site in sites),
        captured=sum(site.captured for site in sites),
    )


def _measured(whole: Compilation, bare: Compilation) -> tuple[float, float]:
    """Return the median seconds of a run of each program. They run in turn, so that other work of the machine affects both."""
    times: tuple[list[float], list[float]] = ([], [])
    with contextlib.redirect_stdout(io.StringIO()):
        for number in range(_RUNS + 1):
            for mine, program in zip(times, (whole, bare), strict=True):
                seconds = seconds_of(program.run)
                if number:  # The first run warms up.
                    mine.append(seconds)
    return statistics.median(times[0]), statistics.median(times[1])
