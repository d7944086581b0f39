"""The program of a call as nested boxes: see `jax_debug_widgets.graph`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.graphs import Equation, Graph, Program
from jax_debug_widgets.session.run.by_name import watched_sites
from jax_debug_widgets.session.run.watched_value import WatchedValue
from jax_debug_widgets.session.studies.linked import lines_of_sources
from jax_debug_widgets.session.studies.programs import traced
from jax_debug_widgets.taps.sites import phase_of

if TYPE_CHECKING:
    from jax_debug_widgets.session.ports import CapturesAndRuns

_NOT_FINITE = ("nan", "posinf", "neginf")


def graph_of(
    session: CapturesAndRuns, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Graph:
    """The program of `function(*args, **kwargs)`; see `jax_debug_widgets.graph`.

    Raises:
      Exception: what tracing the function raises.
    """
    found, program = traced(session, function, args, kwargs)
    run = session.current
    not_finite = {} if run is None else not_finite_in(run, program)
    return Graph(program, found.paths, lines_of_sources(program), not_finite)


def not_finite_in(run: Any, program: Program) -> dict[int, int]:
    """How many elements were not finite in a run, of the equations whose values it has watched, all steps together.

    An equation is the one that computes a watched value where it is written in the same place and gives the same name.
    """
    counts: dict[tuple[Any, ...], int] = {}
    try:
        for site in watched_sites(run).values():
            if site.watch is None or site.watch.role != "value" or phase_of(site.name_stack) != "forward":
                continue
            value = WatchedValue(run, site)
            key = site.file, site.line, site.column, site.end_line, site.end_column, site.watch.name
            counts[key] = counts.get(key, 0) + sum(int(value[name].sum()) for name in _NOT_FINITE if name in value)
    except (LookupError, ValueError):  # A run whose values were let go of: nothing is known.
        return {}
    found: dict[int, int] = {}
    numbers = {id(one): number for number, one in enumerate(program.equations)}
    for one in program.equations:
        source = one.source
        if source is None or one.role != "forward" or not counts:
            continue
        place = source.file, source.line, source.column, source.end_line, source.end_column
        for position, name in enumerate(one.names):
            key = (*place, name.partition("#")[0])
            if key in counts:
                found[numbers[id(_maker(one, position))]] = counts[key]
    return found


def _maker(one: Equation, position: int) -> Equation:
    """The equation that computes a result of one, inside what it calls."""
    while len(one.bodies) == 1:
        result = one.bodies[0].results[position] if position < len(one.bodies[0].results) else None
        if result is None or result.kind != "result":
            break
        one, position = one.bodies[0].equations[result.number], result.position
    return one
