"""Find the arrays whose parts XLA cannot prove equal.

XLA does not merge calls that have different parts as operands. With `vmap_method="sequential_unrolled"`, a callback
becomes one call for each lane, side by side, and XLA merges the calls with operands that it finds equal. The number of
the lane as a further operand would prevent that, so it may be added only where XLA cannot merge the calls anyway.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np

from jax_debug_widgets._jax.compat.private import core

_ELEMENTWISE = frozenset({
    "abs", "add", "atan2", "convert_element_type", "copy", "cos", "div", "erf", "exp", "exp2", "expm1", "log", "log1p", "named",
    "logistic", "mul", "neg", "pow", "rsqrt", "sin", "sqrt", "square", "sub", "tan", "tanh", "transpose",
})  # fmt: skip
"""The operations that keep elements apart: XLA does not simplify floats, so it cannot prove their results equal."""


def keeps_apart(equation: core.JaxprEqn, apart: Container[Any]) -> bool:
    """Return whether XLA cannot prove any two parts of an equation's result equal, along any axis.

    `apart` holds the variables with this property. A broadcast repeats elements, so its result does not have it.
    """
    variables = [one for one in equation.invars if not isinstance(one, core.Literal)]
    literals = [np.asarray(one.val) for one in equation.invars if isinstance(one, core.Literal)]
    return (
        equation.primitive.name in _ELEMENTWISE
        and any(one in apart for one in variables)
        and len(set(variables)) == len(variables)  # `x - x`
        and all(one.aval.dtype.kind == "f" for one in (*variables, *equation.outvars))  # pyright: ignore[reportAttributeAccessIssue]
        and all(literal.all() for literal in literals)  # `x * 0`
    )
