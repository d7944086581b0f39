"""What `jax.grad` and its kin give is not what the function they differentiate returns: which part is which."""

from __future__ import annotations

import re
from itertools import takewhile

from jax_debug_widgets._jax.copies import is_given_back
from jax_debug_widgets._jax.frames import GRADIENT_AND_AUX
from jax_debug_widgets.watch.body import Body
from jax_debug_widgets.watch.source import is_library

WITH_FUNCTION = ("vjp", "linearize")
"""What gives a function as the second result, which pulls back or pushes."""

_WRAPPER = re.compile("grad|vjp|update_context_manager", re.IGNORECASE)  # The last is around each of flax.nnx's.


def differentiating(body: Body, number: int, depth: int) -> str:
    """Which function of JAX's differentiates what is called from a frame, itself or through a library's wrapper of it."""
    own, *inner = body.levels[_inside(body, number, depth)][depth:]
    wrappers = takewhile(lambda level: is_library(level.file) and _WRAPPER.search(level.function), inner)
    for level in (own, *wrappers):
        if level.function == "_GradWrapper.__call__":  # `equinox.filter_grad`: of `value_and_grad` the gradient first.
            return GRADIENT_AND_AUX
        if level.differentiates:
            return level.differentiates
    return ""


def _inside(body: Body, number: int, depth: int) -> int:
    """Of a copy of what a derivative gives what has made that, in the same frame; else the equation itself."""
    equation, levels = body.equations[number], body.levels[number]
    made = body.maker_of(equation.invars[0]) if is_given_back(equation) else None
    there = [(one.file, one.span) for one in body.levels[made[1]][depth : depth + 1]] if made else []
    return made[1] if made and there == [(levels[depth].file, levels[depth].span)] else number
