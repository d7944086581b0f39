"""Find the intended infinities: those of constants, as `-jnp.inf` in `jnp.where(mask, scores, -jnp.inf)`.

Operations that move, add, scale or compare numbers pass a mask on; reductions do not: a sum that is infinite is not a mask.
So infinities in other values can be reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jax import dtypes

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import core

Signs = frozenset[str]
"""The intended infinities of a value: a subset of `posinf` and `neginf`."""

_NONE: Signs = frozenset()
_FLIPPED = {"posinf": "neginf", "neginf": "posinf"}

_MOVING = frozenset({
    "select_n", "broadcast_in_dim", "reshape", "transpose", "slice", "dynamic_slice", "squeeze", "expand_dims",
    "concatenate", "pad", "rev", "gather", "convert_element_type", "copy", "named", "reshard", "pvary", "stop_gradient", "name",
    "reduce_precision", "optimization_barrier", "dynamic_update_slice", "scatter", "add", "split",
})  # fmt: skip
"""Primitives whose results have the infinities of their operands."""


def intended_infinities(jaxpr: core.Jaxpr) -> Mapping[core.Var, Signs]:
    """Return the variables with intended infinities, of a program and of the programs inside it."""
    found: dict[core.Var, Signs] = {}
    _follow(jaxpr, [_NONE] * len(jaxpr.invars), found)
    return found


def _follow(jaxpr: core.Jaxpr, given: Sequence[Signs], found: dict[core.Var, Signs]) -> list[Signs]:
    """Return the signs of a program's results, given those of its inputs; add the signs of its variables to `found`."""

    def of(atom: Any) -> Signs:
        return _of_constant(atom.val) if isinstance(atom, core.Literal) else found.get(atom, _NONE)

    def note(variable: core.Var, signs: Signs) -> None:
        if signs:
            found[variable] = found.get(variable, _NONE) | signs

    for variable, signs in zip(jaxpr.invars, given, strict=True):
        note(variable, signs)
    for equation in jaxpr.eqns:
        results = _results(equation, [of(atom) for atom in equation.invars], found)
        for variable, signs in zip(equation.outvars, results, strict=True):
            note(variable, signs)
    return [of(atom) for atom in jaxpr.outvars]


def _results(equation: core.JaxprEqn, operands: Sequence[Signs], found: dict[core.Var, Signs]) -> Sequence[Signs]:
    params, count = equation.params, len(equation.outvars)
    inner = [_program(one) for one in core.jaxprs_in_params(params)]
    match equation.primitive.name:
        case "scan":
            first, carried = versions.scan_counts(params)
            results = _looped(inner[0], operands[:first], operands[first:], carried, found)
        case "while":
            first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
            body, carry = _program(params["body_jaxpr"]), operands[second:]
            results = _looped(body, operands[first:second], carry, len(carry), found)
            _follow(_program(params["cond_jaxpr"]), [*operands[:first], *results], found)
        case "cond":
            results = [_any(each) for each in zip(*(_follow(one, operands[1:], found) for one in inner), strict=True)]
        case name if not inner:
            results = [_computed(name, operands)] * count
        case _:
            is_call = len(inner) == 1 and len(inner[0].invars) == len(operands) and len(inner[0].outvars) == count
            results = _follow(inner[0], operands, found) if is_call else [_NONE] * count
    return results


def _computed(primitive: str, operands: Sequence[Signs]) -> Signs:
    match primitive:
        case "max" | "min":
            # The result is this infinity only if both operands are.
            least = "neginf" if primitive == "max" else "posinf"
            return (operands[0] & operands[1]) | (_any(operands) - {least})
        case "neg":
            return _flipped(operands[0])
        case "sub":
            return operands[0] | _flipped(operands[1])
        case "mul" | "div":
            signs = _any(operands if primitive == "mul" else operands[:1])
            return signs | _flipped(signs)
    return _any(operands) if primitive in _MOVING else _NONE


def _looped(
    body: core.Jaxpr, constants: Sequence[Signs], rest: Sequence[Signs], carried: int, found: dict[core.Var, Signs]
) -> list[Signs]:
    """Return the signs of a loop's results; a carried value may have the signs that any iteration gives it."""
    carry, each = list(rest[:carried]), list(rest[carried:])
    while True:
        results = _follow(body, [*constants, *carry, *each], found)
        grown = [one | other for one, other in zip(carry, results[:carried], strict=True)]
        if grown == carry:
            return [*carry, *results[carried:]]
        carry = grown


def _program(program: Any) -> core.Jaxpr:
    return getattr(program, "jaxpr", program)


def _of_constant(value: Any) -> Signs:
    array = np.asarray(value)
    if not dtypes.issubdtype(array.dtype, np.floating):
        return _NONE
    array = array.astype(np.float64)
    signs = (("posinf", np.isposinf(array)), ("neginf", np.isneginf(array)))
    return frozenset(name for name, where in signs if where.any())


def _any(several: Sequence[Signs]) -> Signs:
    return frozenset[str]().union(*several)


def _flipped(signs: Signs) -> Signs:
    return frozenset(map(_FLIPPED.__getitem__, signs))
