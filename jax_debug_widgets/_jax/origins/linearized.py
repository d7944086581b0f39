"""Find out whether a checkpointed program is recomputed for tangents, or is part of the forward pass.

When JAX differentiates a loop, it splits the loop's forward pass into a part that depends on the iteration and one that
does not. It marks checkpointed programs in it as differentiated, although nothing is recomputed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax_debug_widgets._jax.compat.caching import cached_fact
from jax_debug_widgets._jax.compat.private import ad, core

_ONE_AT_A_TIME = frozenset({"mul", "dot_general", "conv_general_dilated", "div"})
"""The primitives that are linear in each operand, but not in two operands together."""


@cached_fact
def is_linearized(jaxpr: core.Jaxpr) -> bool:
    """Return whether all results of a program are linear in its last operands, the tangents.

    No effect may depend on the tangents.
    """
    count = len(jaxpr.invars)
    return any(
        (linear := _linear_results(jaxpr, [first <= one for one in range(count)])) is not None and all(linear)
        for first in range(count)
    )


def _linear_results(jaxpr: core.Jaxpr, operands: Sequence[bool]) -> list[bool] | None:
    """Return which results depend on the inputs that are tangents; None if an equation is not linear in them."""
    tangents = {variable for variable, is_tangent in zip(jaxpr.invars, operands, strict=True) if is_tangent}

    def is_tangent(atom: Any) -> bool:
        return not isinstance(atom, core.Literal) and atom in tangents

    for equation in jaxpr.eqns:
        here = list(map(is_tangent, equation.invars))
        linear = _results_of(equation, here) if any(here) else []
        if linear is None:
            return None
        tangents.update(variable for variable, one in zip(equation.outvars, linear, strict=False) if one)
    return list(map(is_tangent, jaxpr.outvars))


def _results_of(equation: core.JaxprEqn, operands: Sequence[bool]) -> list[bool] | None:
    primitive, programs = equation.primitive, list(core.jaxprs_in_params(equation.params))
    if len(programs) == 1 and len(programs[0].invars) == len(operands) and primitive.name not in ("scan", "while"):
        return _linear_results(programs[0], operands)
    is_linear = primitive in ad.primitive_transposes or primitive in getattr(ad, "fancy_transposes", {})
    if not programs and (not is_linear or equation.effects or (primitive.name in _ONE_AT_A_TIME and sum(operands) > 1)):
        return None
    return [True] * len(equation.outvars)  # Loops and branches are assumed to be linear.
