"""Identify an equation, or an input, of a transformed program with its original before JAX transformed it.

An equation keeps its traceback object when JAX differentiates, batches or partially evaluates its program. All
equations into which one operation is batched or transposed share that object, and are numbered. An equation that keeps
its primitive keeps the order of its operands and results. An equation that runs a program does not: JAX reorders them
and adds others. Then the equation inside that uses the operand, or computes the result, identifies it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.caching import cached_fact
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.residuals import is_residual

Origin = Hashable
"""A key that is equal for a result, or a use of an input, before and after JAX has transformed the program."""

_PROGRAMS = ("jaxpr", "call_jaxpr", "fun_jaxpr", "body_jaxpr", "branches")
"""The parameters that hold the programs that an equation runs."""

_LOOPS = ("scan", "while")


class Operation:
    """Identifies an operation by the traceback object of all equations that JAX has made from it.

    Two tracebacks compare equal if their frames do. Two `Operation`s are equal only if they hold the same object.
    """

    __slots__ = ("_traceback",)

    def __init__(self, traceback: Any) -> None:
        self._traceback = traceback

    def __hash__(self) -> int:
        return id(self._traceback)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operation) and self._traceback is other._traceback


def operation_of(equation: Any) -> Operation:
    """Return the operation from which JAX has made an equation."""
    return Operation(equation.source_info.traceback)


def loop_called_by(equation: Any) -> Any:
    """Return the loop that JAX has wrapped into the call `equation`, with the same traceback; None if there is none."""
    inner = _program_of(equation).eqns if equation.primitive.name in versions.CALLS else ()
    are_one = (one for one in inner if operation_of(one) == operation_of(equation))
    return next((one for one in are_one if one.primitive.name in _LOOPS), None)


Ordinal = tuple[int, int, bool] | None
"""(number, count, is_transposed) among equations of one operation and kind; None for a single, not transposed one."""


def is_transposed(equation: Any) -> bool:
    """Return whether a derivative that the program itself computes has transposed an equation."""
    for one in equation.source_info.name_stack.stack:  # noqa: SIM110 - asked of each equation; a generator takes longer.
        if getattr(one, "name", "") == "transpose":
            return True
    return False


def ordinals_of(equations: Sequence[Any], transposed: Iterable[bool]) -> list[Ordinal]:
    """Number the equations of a program that share a traceback.

    One operation is batched or transposed into them. If JAX drops one of them, the counts differ, and none of the
    others is recognized.
    """
    keys = [(operation_of(one), _kind_of(one), of) for one, of in zip(equations, transposed, strict=True)]
    counts, seen = Counter(keys), Counter[Any]()
    ordinals: list[Ordinal] = []
    for key in keys:
        is_alone = counts[key] == 1 and not key[-1]
        ordinals.append(None if is_alone else (seen[key], counts[key], key[-1]))
        seen[key] += 1
    return ordinals


def origins_of_result(equation: Any, position: int, ordinal: Ordinal) -> Iterator[Origin]:
    """Yield the origins of a result.

    These are that of the equation and, if JAX may inline the equation, that of the equation inside that computes the
    result.
    """
    jaxpr = _program_of(equation)
    made = _made_in(jaxpr, position) if jaxpr is not None else None
    if jaxpr is None or made is None:
        kind = equation.primitive.name, is_residual_result(equation, position)
        yield operation_of(equation), ordinal, kind, position, len(equation.outvars)
    elif made.equation is loop_called_by(equation):
        yield from origins_of_result(made.equation, made.position, ordinal)
    else:
        inner = jaxpr.outvars[position]
        axes, inner_axes = (len(getattr(one.aval, "shape", ())) for one in (equation.outvars[position], inner))
        for origin in origins_of_result(made.equation, made.position, made.ordinal):
            yield operation_of(equation), ordinal, axes > inner_axes, origin
        if ordinal is None and made.is_alone and equation.primitive.name not in _LOOPS:
            yield from origins_of_result(made.equation, made.position, None)


def is_residual_result(equation: Any, position: int) -> bool:
    """Return whether a result of an equation is a residual: computed by a derivative's rule beside the value.

    For a `cond`, one branch is enough.
    """
    made = (_made_in(program, position) for program in core.jaxprs_in_params(equation.params))
    return is_residual(equation) or any(is_residual_result(one.equation, one.position) for one in made if one)


class _Made(NamedTuple):
    """The equation that computes a variable, the position among its results, and the equation's ordinal.

    Attributes:
      is_alone: whether no other equation has its traceback; equations that JAX inlines have that of the call.
    """

    equation: Any
    position: int
    ordinal: Ordinal
    is_alone: bool


def _made_in(jaxpr: Any, position: int) -> _Made | None:
    """Return the equation that computes a result of a program.

    Return None if the result is an input or a constant, or does not exist.
    """
    inner = jaxpr.outvars[position] if position < len(jaxpr.outvars) else None
    return _made_by(jaxpr).get(inner) if isinstance(inner, core.Var) else None


@cached_fact
def _made_by(jaxpr: core.Jaxpr) -> dict[Any, _Made]:
    """Map each result of a program to the equation that computes it."""
    wanted = {atom for atom in jaxpr.outvars if isinstance(atom, core.Var)}
    ordinals = ordinals_of(jaxpr.eqns, map(is_transposed, jaxpr.eqns))
    counts = Counter(map(operation_of, jaxpr.eqns))
    return {
        variable: _Made(equation, position, ordinal, counts[operation_of(equation)] == 1)
        for equation, ordinal in zip(jaxpr.eqns, ordinals, strict=True)
        for position, variable in enumerate(equation.outvars)
        if variable in wanted
    }


def origins_of_uses(equation: Any, position: int, *, is_traced: bool) -> Iterator[Origin]:
    """Yield the origins of an operand of an equation: one for each use of it inside.

    Args:
      equation: the equation.
      position: the position of the operand.
      is_traced: whether the equation is as Python has traced it. If not, JAX may have made several equations from one
        inside it: each then yields the origin of that one, too.
    """
    jaxpr = _program_of(equation)
    if jaxpr is None:
        yield operation_of(equation), _kind_of(equation), position
        return
    place = position - (len(equation.invars) - len(jaxpr.invars))  # The constants of a loop's condition come first.
    inner = jaxpr.invars[place] if place >= 0 else None
    for one in jaxpr.eqns:
        for number, atom in enumerate(one.invars):
            if atom is inner:
                is_same = one is loop_called_by(equation)
                ordinal = _ordinal_in(jaxpr, one)
                for origin in origins_of_uses(one, number, is_traced=is_traced):
                    for which in (ordinal,) if is_traced or ordinal is None else (ordinal, None):
                        yield origin if is_same else (operation_of(equation), which, origin)


def _kind_of(equation: Any) -> tuple[str, bool]:
    """Return the primitive's name, and whether a derivative's rule made the equation to compute a residual."""
    return equation.primitive.name, is_residual(equation)


def _ordinal_in(jaxpr: Any, equation: Any) -> Ordinal:
    alike = [one for one in jaxpr.eqns if operation_of(one) == operation_of(equation)]
    return next(
        of for one, of in zip(alike, ordinals_of(alike, map(is_transposed, alike)), strict=True) if one is equation
    )


def _program_of(equation: Any) -> Any:
    program = next((equation.params[key] for key in _PROGRAMS if key in equation.params), None)
    if isinstance(program, tuple):
        program = program[0] if program else None
    return getattr(program, "jaxpr", program)
