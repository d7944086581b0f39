"""Collect what the newest run, and comparisons with float64, know about the equations of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jax_debug_widgets.graphs import Equation, Program
from jax_debug_widgets.graphs.seen import Seen, growth_in
from jax_debug_widgets.session.run.by_name import watched_sites
from jax_debug_widgets.session.run.watched_value import WatchedValue
from jax_debug_widgets.taps.sites import phase_of

if TYPE_CHECKING:
    from jax_debug_widgets.session.ports import CapturesAndRuns

_NOT_FINITE = ("nan", "posinf", "neginf")


def seen_of(session: CapturesAndRuns, program: Program) -> Seen:
    """Return what the newest run, and the newest comparison of this program with float64, know about a program."""
    growth = next((found for one in session.program_views.measured if (found := growth_in(program, one))), {})
    run = session.current
    return Seen(growth=growth) if run is None else seen_in(run, program, growth)


def seen_in(run: Any, program: Program, growth: dict[int, float] | None = None) -> Seen:
    """Return what a run knows about the equations of a program from its watched values.

    An equation computes a watched value if both have the same place in the source and the same name.
    """
    counts: dict[tuple[Any, ...], int] = {}
    words: dict[tuple[Any, ...], str] = {}
    try:
        for site in watched_sites(run).values():
            if site.watch is None or site.watch.role != "value" or phase_of(site.name_stack) != "forward":
                continue
            value = WatchedValue(run, site)
            key = site.file, site.line, site.column, site.end_line, site.end_column, site.watch.name
            counts[key] = counts.get(key, 0) + sum(int(value[name].sum()) for name in _NOT_FINITE if name in value)
            words[key] = _last_step_text(value) or words.get(key, "")
    except (LookupError, ValueError):  # The values of the run were dropped, so that nothing is known.
        return Seen(growth=growth or {})
    not_finite, values = dict[int, int](), dict[int, str]()
    numbers = {id(one): number for number, one in enumerate(program.equations)}
    for one in program.equations if counts else ():
        source = one.source
        if source is None or one.role != "forward":
            continue
        place = source.file, source.line, source.column, source.end_line, source.end_column
        for position, name in enumerate(one.names):
            key = (*place, name.partition("#")[0])
            if key in counts:
                number = numbers[id(_maker(one, position))]
                not_finite[number] = counts[key]
                if words[key]:
                    values[number] = words[key]
    return Seen(not_finite, values, growth or {})


def _last_step_text(value: WatchedValue) -> str:
    """Write the last step of a value: `0.3`, or `-0.3 … 2.1, 4 NaN`."""
    if "value" in value and value["value"].ndim == 1:  # Otherwise `value` has whole arrays; the statistics are used.
        return _number(value["value"][-1]) if len(value["value"]) else ""
    if "min" not in value or not len(value["min"]):
        return ""
    low, high = value["min"][-1], value["max"][-1]
    spoilt = [(name, int(value[name][-1])) for name in _NOT_FINITE if name in value and value[name][-1]]
    parts = [f"{_number(low)} … {_number(high)}"] if np.isfinite(low) else []
    return ", ".join([*parts, *(f"{count:,} {_WORDS[name]}" for name, count in spoilt)])


_WORDS = {"nan": "NaN", "posinf": "∞", "neginf": "-∞"}


def _number(value: Any) -> str:
    return f"{value:.3g}"


def _maker(one: Equation, position: int) -> Equation:
    """Return the equation that computes a result of `one`, inside the functions that it calls."""
    while len(one.bodies) == 1:
        result = one.bodies[0].results[position] if position < len(one.bodies[0].results) else None
        if result is None or result.kind != "result":
            break
        one, position = one.bodies[0].equations[result.number], result.position
    return one
