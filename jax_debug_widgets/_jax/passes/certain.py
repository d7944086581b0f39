"""Which values of a body go to its results for certain: not those that a choice may leave out, and not those that nobody uses.

What `jnp.where(i < n, x[i], 0.0)` reads of `x` may be thrown away. So may what a branch of a `cond` computes under `vmap`,
where JAX computes both and selects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import core


def certain_values(jaxpr: core.Jaxpr, results: Sequence[bool]) -> set[Any]:
    """The variables of a body of whose results these go on for certain."""
    found = {atom for atom, goes_on in zip(jaxpr.outvars, results, strict=True) if goes_on and _is_variable(atom)}
    for equation in reversed(jaxpr.eqns):
        if not (equation.effects or any(one in found for one in equation.outvars)):
            continue
        found.update(filter(_is_variable, _certain_operands(equation, found)))
    return found


def _certain_operands(equation: core.JaxprEqn, found: set[Any]) -> Sequence[Any]:
    operands = equation.invars
    if equation.primitive.name == "select_n":
        chooses, *cases = operands
        return [chooses, *(one for one in cases if all(other is one for other in cases))]
    inner = [getattr(one, "jaxpr", one) for one in core.jaxprs_in_params(equation.params)]
    if equation.primitive.name in ("jit", "pjit") and len(inner) == 1:
        inside = certain_values(inner[0], [one in found for one in equation.outvars])
        return [one for one, own in zip(operands, inner[0].invars, strict=True) if own in inside]
    return operands


def results_of_bodies(equation: core.JaxprEqn, certain: set[Any]) -> list[bool]:
    """For each result of the programs that an equation runs whether it goes on for certain."""
    results = [one in certain for one in equation.outvars]
    match equation.primitive.name:
        case "scan":  # It takes again what it carries.
            _, carried = versions.scan_counts(equation.params)
            return [True] * carried + results[carried:]
        case "while":
            return [True] * len(results)
    return results


def _is_variable(atom: Any) -> bool:
    return isinstance(atom, core.Var)
