"""What a loop carries and gives of values where it carries their tangents, too: JAX puts these after the values.

`jax.jvp`, `jacfwd` and `hessian` make one loop of both, and say nowhere how many are which. A tangent is of the type of a
value, and no value hangs on one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jax._src import core
from jax._src.util import weakref_lru_cache

from jax_debug_widgets._jax import versions


@dataclass(frozen=True)
class Values:
    """Which inputs of a loop's body and results of the loop are values.

    Attributes:
      carried, sliced: how many of what it carries, and of what it is given a part of in each iteration, come first.
      results: where among the results.
    """

    carried: int
    sliced: int
    results: frozenset[int]


def values_in(equation: core.JaxprEqn) -> Values:
    """Those of a `scan` or `while` that pushes tangents forward."""
    params: Any = equation.params
    if equation.primitive.name == "while":
        program, first = params["body_jaxpr"].jaxpr, params["body_nconsts"]
        return _values_in(program, first, len(program.invars) - first)
    first, carried = versions.scan_counts(params)
    return _values_in(params["jaxpr"].jaxpr, first, carried)


@weakref_lru_cache
def _values_in(program: core.Jaxpr, first: int, carried: int) -> Values:
    made, stacked = program.outvars[:carried], program.outvars[carried:]
    # What nothing uses of them is left out, and values more often than tangents: they tell where nothing is carried only.
    begins = () if carried else stacked[: _half(len(stacked))]
    given, sliced = program.invars[first : first + carried], program.invars[first + carried :]
    values = _values_of(program, given, set(), lambda count: [*made[:count], *begins])
    tangents = set(given[values:])
    parts = _values_of(program, sliced, tangents, lambda _count: [*made[:values], *begins])
    hanging = _hanging(program, tangents.union(sliced[parts:]))
    own = (carried + number for number, one in enumerate(stacked) if not _is_in(one, hanging))
    return Values(values, parts, frozenset((*range(values), *own)))


def _half(count: int) -> int:
    """At least so many of what may have tangents are values."""
    return -(-count // 2)


def _values_of(
    program: core.Jaxpr, given: Sequence[Any], tangents: set[Any], must_not_hang: Callable[[int], Sequence[Any]]
) -> int:
    """How many of these inputs are values: as few as can be, so that the others may be their tangents.

    Args:
      tangents: what is known to be such.
      must_not_hang: what does not hang on tangents, if so many are values.
    """
    for count in range(_half(len(given)), len(given)):
        if _may_be_tangents(given[count:], given[:count]):
            hanging = _hanging(program, tangents.union(given[count:]))
            if not any(_is_in(one, hanging) for one in must_not_hang(count)):
                return count
    return len(given)


def _may_be_tangents(tangents: Sequence[Any], values: Sequence[Any]) -> bool:
    """Whether they are of the types of some of these values, in their order, but for an axis of tangents."""
    left = iter(values)
    return all(any(may_be_tangent(value.aval, tangent.aval) for value in left) for tangent in tangents)


def may_be_tangent(value: Any, tangent: Any) -> bool:
    """Whether these avals are of one type, but for an axis of tangents."""
    shapes = [tangent.shape, *(tangent.shape[:axis] + tangent.shape[axis + 1 :] for axis in range(len(tangent.shape)))]
    return tangent.dtype == value.dtype and value.shape in shapes


def _is_in(atom: Any, variables: set[Any]) -> bool:
    return not isinstance(atom, core.Literal) and atom in variables


def _hanging(program: core.Jaxpr, inputs: Iterable[Any]) -> set[Any]:
    """What a program computes of these inputs, and they."""
    found = set(inputs)
    for equation in program.eqns:
        operands = [_is_in(atom, found) for atom in equation.invars]
        if any(operands):
            results = _hanging_results(equation, operands)
            found.update(variable for variable, hangs in zip(equation.outvars, results, strict=True) if hangs)
    return found


def _hanging_results(equation: core.JaxprEqn, operands: list[bool]) -> list[bool]:
    """Which results of an equation hang on these operands."""
    name, programs = equation.primitive.name, list(core.jaxprs_in_params(equation.params))
    if name == "scan" and len(programs) == 1:
        first, carried = versions.scan_counts(equation.params)
        while True:  # What it carries comes in again.
            results = _results(programs[0], operands)
            again = [*operands[:first], *map(any, zip(operands[first:], results[:carried], strict=False))]
            again += operands[first + carried :]
            if again == operands:
                return results
            operands = again
    if len(programs) == 1 and len(programs[0].invars) == len(operands):
        return _results(programs[0], operands)
    return [True] * len(equation.outvars)


def _results(program: core.Jaxpr, operands: Sequence[bool]) -> list[bool]:
    inputs = (variable for variable, hangs in zip(program.invars, operands, strict=True) if hangs)
    hanging = _hanging(program, inputs)
    return [_is_in(atom, hanging) for atom in program.outvars]
