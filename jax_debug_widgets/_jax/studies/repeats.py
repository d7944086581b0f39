"""Count how often an equation runs its body."""

from __future__ import annotations

from jax_debug_widgets._jax.compat.private import core


def repeats_of(equation: core.JaxprEqn) -> int | None:
    match equation.primitive.name:
        case "scan":
            return equation.params["length"]
        case "while" | "pallas_call":
            return None
    return 1
