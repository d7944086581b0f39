"""Which arrays have parts that XLA cannot find to be alike: it does not merge what is called with such.

Of a callback with `vmap_method="sequential_unrolled"` the calls of all lanes stand beside each other, and XLA makes one of
those whose operands are the same. A number handed to each, to tell the lane, would keep it from that, unless it cannot do so
anyway.
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
"""Operations that give different results for different elements as far as XLA can see, which simplifies no floats away."""


def keeps_apart(equation: core.JaxprEqn, apart: Container[Any]) -> bool:
    """Whether what an equation makes has parts that cannot be found to be alike, along any axis, as have those of `apart`.

    What has one value for several elements (a broadcast) has not.
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
