"""Tell which programs an equation runs, how often, and which operands they read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.studies.value_types import type_of

_T = TypeVar("_T")


def repeats_of(equation: core.JaxprEqn) -> int | None:
    """The runs of a body in one execution of its equation; None if that is known only at run time."""
    match equation.primitive.name:
        case "scan":
            return equation.params["length"]
        case "while":
            return None
        case "pallas_call":
            grid: Any = getattr(equation.params.get("grid_mapping"), "grid", (None,))
            return math.prod(grid) if all(isinstance(one, int) for one in grid) else None
    return 1


_SOLVE = tuple(f"branch_{place}_fun" for place in range(4))
"""The programs of `lax.custom_linear_solve`: product, transposed product, solve, transposed solve."""


def runs_itself(equation: core.JaxprEqn, key: str) -> bool:
    """Whether an equation runs this program of its own; else a derivative of the equation does."""
    return equation.primitive.name != "custom_linear_solve" or key == solving_of(equation, equation.invars)[0]


def is_vecmat(equation: core.JaxprEqn, key: str) -> bool:
    """Whether a program is the transposed product of `lax.custom_linear_solve`."""
    return equation.primitive.name == "custom_linear_solve" and key == _SOLVE[1]


def solving_of(equation: core.JaxprEqn, inputs: Sequence[_T]) -> tuple[str, Any, Sequence[_T]]:
    """The program by which `lax.custom_linear_solve` finds its result: its key, and what it takes."""
    programs, counts = equation.params["jaxprs"], equation.params["const_lengths"]
    place = programs._fields.index("solve")
    first = sum(counts[:place])
    return f"branch_{place}_fun", programs.solve, [*inputs[first : first + counts.solve], *inputs[sum(counts) :]]


def _given_to_solve(equation: core.JaxprEqn, key: str, count: int) -> tuple[int | None, ...]:
    """What a program of `lax.custom_linear_solve` reads; the one that finds the result takes the right side, too."""
    counts = equation.params["const_lengths"]
    place = _SOLVE.index(key)
    first = sum(counts[:place])
    read = range(first, first + counts[place])
    if not runs_itself(equation, key):
        return _first(count, read)
    return (*read, *range(sum(counts), len(equation.invars)))


def given_to(equation: core.JaxprEqn, key: str, jaxpr: core.Jaxpr) -> tuple[int | None, ...]:
    """See `Body.given`."""
    count, params = len(jaxpr.invars), equation.params
    match equation.primitive.name:
        case "scan":
            return _first(count, range(versions.scan_counts(params)[0]))
        case "while" if key == "cond_jaxpr":
            return _first(count, range(params["cond_nconsts"]))
        case "while":
            first = params["cond_nconsts"]
            return _first(count, range(first, first + params["body_nconsts"]))
        case "cond":
            return tuple(range(1, count + 1))
        case "custom_linear_solve":
            return _given_to_solve(equation, key, count)
    return _handed_on(equation, jaxpr)


def _handed_on(equation: core.JaxprEqn, jaxpr: core.Jaxpr) -> tuple[int | None, ...]:
    """All operands, if the program takes them as they are."""
    count = len(jaxpr.invars)
    if len(equation.invars) != count:
        return (None,) * count
    pairs = zip(equation.invars, jaxpr.invars, strict=True)
    is_handed_on = all(type_of(outer) == type_of(inner) or _is_number(outer) for outer, inner in pairs)
    return tuple(range(count)) if is_handed_on or equation.primitive.name == "shard_map" else (None,) * count


def _is_number(atom: Any) -> bool:
    return isinstance(atom, core.Literal) and not getattr(atom.aval, "shape", ())


def _first(count: int, operands: range) -> tuple[int | None, ...]:
    return (*operands, *[None] * (count - len(operands)))
