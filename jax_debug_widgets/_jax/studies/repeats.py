"""Count how often an equation runs its body."""

from __future__ import annotations

import math
from typing import Any

from jax_debug_widgets._jax.compat.private import core


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
