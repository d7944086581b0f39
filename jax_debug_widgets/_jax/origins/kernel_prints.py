"""Handle prints in Pallas kernels.

JAX's interpreter (`interpret=True`) runs the programs of a kernel one by one, in a loop.
"""

from __future__ import annotations

from typing import Any

from jax_debug_widgets._jax.compat.caching import cached_fact
from jax_debug_widgets._jax.compat.private import core, debugging
from jax_debug_widgets._jax.origins.equation import Loop


@cached_fact
def has_printing_kernels(jaxpr: core.Jaxpr) -> bool:
    """Return whether an interpreted kernel in the program prints.

    The program's own effects do not show that.
    """
    return any(
        (_is_interpreted(equation) and has_debugging(equation.params["jaxpr"]))
        or any(map(has_printing_kernels, core.jaxprs_in_params(equation.params)))
        for equation in jaxpr.eqns
    )


def grid_loops(params: dict[str, Any]) -> tuple[Loop, ...]:
    """Return the axes of a kernel's grid as loops, outermost first, in which `pl.program_id` counts."""
    return tuple(Loop(length if isinstance(length, int) else None) for length in params["grid_mapping"].grid)


def _is_interpreted(equation: core.JaxprEqn) -> bool:
    return equation.primitive.name == "pallas_call" and equation.params["interpret"] is True


def has_debugging(jaxpr: core.Jaxpr) -> bool:
    """Return whether a program, or one inside it, prints or calls back for debugging."""
    effects = (debugging.DebugEffect, debugging.OrderedDebugEffect)
    return any(isinstance(effect, effects) for effect in jaxpr.effects)
