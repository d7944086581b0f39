"""Find the tangents that derivatives push forward: `jax.jvp`, `jacfwd` and `hessian` compute them beside the values.

Everything that depends on the tangents that go into a derivative (`copies` copies these) is a tangent, up to the
results of the derivative: for the code that asked for them these are values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.caching import cached_fact
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.frames import Level
from jax_debug_widgets._jax.origins.inlining import traceback_of
from jax_debug_widgets._jax.origins.pushed_frames import asked_outside, pushes_in
from jax_debug_widgets._jax.tracing.copies import is_given_back, is_pushed

AROUND = -2
"""Replaces the number of the frame that asks for a derivative, if that frame is outside of the body."""


def tangents_in(
    program: core.Jaxpr,
    levels_of: Callable[[int], Sequence[Level]],
    derived: Sequence[Sequence[bool]],
    given: Mapping[int, frozenset[int]],
) -> dict[Any, frozenset[int]]:
    """Return the tangents among a program's variables, each with the numbers of the frames that asked for it.

    Args:
      program: the program.
      levels_of: returns the frames of an equation, by its number, outermost first. A derivative asked for outside of all
        frames has number -1.
      derived: for each equation, whether each derivative that it is inside has transposed it, outermost first.
      given: maps the inputs that are tangents to the frames that asked for them: `AROUND`, or, for copies that JAX has moved
        out of a loop, frames in the program.
    """
    found = {program.invars[one]: asked for one, asked in given.items() if one < len(program.invars)}
    for number, equation in enumerate(program.eqns):
        asked = [found.get(atom, ()) if isinstance(atom, core.Var) else () for atom in equation.invars] if found else []
        for at in set[int]().union(*asked):
            own = levels_of(number)
            if _is_inside(equation, own, at) and not _is_of_outer(derived[number], own, at):
                _, results = hanging(equation, [at in one for one in asked])
                for variable, hangs in zip(equation.outvars, results, strict=True):
                    if hangs:
                        found[variable] = found.get(variable, frozenset()) | {at}
        if is_pushed(equation):
            for variable in equation.outvars:
                found[variable] = found.get(variable, frozenset()) | {len(levels_of(number)) - 1}
    return found


def _is_inside(equation: core.JaxprEqn, levels: Sequence[Level], at: int) -> bool:
    """Whether an equation is in the code that frame `at` differentiates; one of its operands is a tangent for that frame."""
    if at == AROUND:
        return True
    if is_given_back(equation) and len(levels) - 1 <= at:
        return False
    if at < 0:
        return pushes_in(traceback_of(equation.source_info)) > sum(level.pushes for level in levels)
    return len(levels) > at and levels[at].pushes > 0


def _is_of_outer(derived: Sequence[bool], levels: Sequence[Level], at: int) -> bool:
    """Whether a derivative around frame `at` has transposed an equation, which then computes cotangents of that derivative."""
    around = 0 if at == AROUND else asked_outside(derived, levels)
    return any(derived[: around + sum(level.derivatives for level in levels[: max(at, 0)])])


def hanging(equation: core.JaxprEqn, operands: Sequence[bool]) -> tuple[list[bool], list[bool]]:
    """Return for the operands and results of an equation whether they depend on the operands marked True.

    Loops carry results back to operands.
    """
    name, programs, own = equation.primitive.name, list(core.jaxprs_in_params(equation.params)), list(operands)
    if name == "cond":
        results = [_results(program, own[1:]) for program in programs]
        return own, [own[0] or any(one) for one in zip(*results, strict=True)]
    if name in ("scan", "while"):
        return _hanging_on_carried(equation, own)
    if len(programs) == 1 and len(programs[0].invars) == len(own):
        return own, _results(programs[0], own)
    return own, [True] * len(equation.outvars)


def _hanging_on_carried(equation: core.JaxprEqn, operands: list[bool]) -> tuple[list[bool], list[bool]]:
    params: Any = equation.params
    if equation.primitive.name == "while":
        program, first = params["body_jaxpr"].jaxpr, params["cond_nconsts"] + params["body_nconsts"]
        begin, carried = params["cond_nconsts"], len(operands) - first
    else:
        begin, program = 0, params["jaxpr"].jaxpr
        first, carried = versions.scan_counts(params)
    while True:
        results = _results(program, operands[begin:])
        again = [*operands]
        for place in range(carried):
            again[first + place] |= results[place]
        if again == operands:
            return operands, results
        operands = again


def _results(program: core.Jaxpr, operands: Sequence[bool]) -> list[bool]:
    found = _hanging(program, (variable for variable, hangs in zip(program.invars, operands, strict=True) if hangs))
    return [_is_in(atom, found) for atom in program.outvars]


def _hanging(program: core.Jaxpr, inputs: Iterable[Any]) -> set[Any]:
    """Return `inputs` and all variables of a program that depend on one of them."""
    found = set(inputs)
    for equation in program.eqns:
        operands = [_is_in(atom, found) for atom in equation.invars]
        if any(operands):
            _, results = hanging(equation, operands)
            found.update(variable for variable, hangs in zip(equation.outvars, results, strict=True) if hangs)
    return found


def _is_in(atom: Any, variables: set[Any]) -> bool:
    return not isinstance(atom, core.Literal) and atom in variables


@cached_fact
def tangents_given(program: core.Jaxpr) -> frozenset[int]:
    """Return the positions of the inputs that are tangents, in a program through which an un-jitted derivative pushes tangents.

    JAX does not record their number. They come after the values, have the same types, and no value depends on one.
    """
    if [equation.primitive.name for equation in program.eqns] == ["scan"]:
        return _given_to_scan(program, program.eqns[0])
    own = program.outvars[: _half(len(program.outvars))]
    count = _values_of(program, program.invars, set(), (), own)
    return frozenset(range(count, len(program.invars)))


def _given_to_scan(program: core.Jaxpr, scan: core.JaxprEqn) -> frozenset[int]:
    """Return the positions of the tangents in a program that is one `scan`.

    These are some of its carried values, and some of its `xs`.
    """
    (first, carried), inner = versions.scan_counts(scan.params), scan.params["jaxpr"].jaxpr
    made, stacked = inner.outvars[:carried], inner.outvars[carried:]
    # JAX drops unused stacked results, values more often than tangents. So their order helps only if nothing is
    # carried.
    begins = () if carried else stacked[: _half(len(stacked))]
    given, sliced = inner.invars[first : first + carried], inner.invars[first + carried :]
    values = _values_of(inner, given, set(), made, begins)
    parts = _values_of(inner, sliced, set(given[values:]), (), (*made[:values], *begins))
    tangents = {*scan.invars[first + values : first + carried], *scan.invars[first + carried + parts :]}
    return frozenset(position for position, variable in enumerate(program.invars) if variable in tangents)


def _half(count: int) -> int:
    """Return half of `count`, rounded up: of `count` values and tangents, at least this number are values."""
    return -(-count // 2)


def _values_of(
    program: core.Jaxpr, given: Sequence[Any], tangents: set[Any], again: Sequence[Any], own: Sequence[Any]
) -> int:
    """Return how many of the inputs `given` are values: the smallest number for which the others may be their tangents.

    Args:
      program: the program with these inputs.
      given: the inputs: values first, then tangents.
      tangents: inputs that are known to be tangents.
      again: for carried inputs, the results that the next iteration gets; that of a value depends on no tangent.
      own: other results that depend on no tangent.
    """
    for count in range(_half(len(given)), len(given)):
        if _may_be_tangents(given[count:], given[:count]):
            found = _hanging(program, tangents.union(given[count:]))
            if not any(_is_in(one, found) for one in (*again[:count], *own)):
                return count
    return len(given)


def _may_be_tangents(tangents: Sequence[Any], values: Sequence[Any]) -> bool:
    """Whether `tangents` have the types of some of `values`, in the same order; a tangent may have one more axis."""
    left = iter(values)
    return all(any(_may_be_tangent(value.aval, tangent.aval) for value in left) for tangent in tangents)


def _may_be_tangent(value: Any, tangent: Any) -> bool:
    shapes = [tangent.shape, *(tangent.shape[:axis] + tangent.shape[axis + 1 :] for axis in range(len(tangent.shape)))]
    return tangent.dtype == value.dtype and value.shape in shapes
