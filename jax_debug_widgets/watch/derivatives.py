"""What `jax.grad` and its kin give is not what the function they differentiate returns: which part is which."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from jax_debug_widgets._jax.frames import GRADIENT_AND_AUX, PUSHING
from jax_debug_widgets.watch.body import Body, Made
from jax_debug_widgets.watch.loads import is_taken_apart
from jax_debug_widgets.watch.source import Statement, Target, is_library

_WRAPPER = re.compile("grad|vjp|update_context_manager", re.IGNORECASE)  # The last is around each of flax.nnx's.


def differentiating(body: Body, number: int, depth: int) -> str:
    """Which function of JAX's differentiates what is called from a frame, itself or through a library's wrapper of it."""
    own, *inner = body.levels[number][depth:]
    wrappers = takewhile(lambda level: is_library(level.file) and _WRAPPER.search(level.function), inner)
    for level in (own, *wrappers):
        if level.function == "_GradWrapper.__call__":  # `equinox.filter_grad`: of `value_and_grad` the gradient first.
            return GRADIENT_AND_AUX
        if level.differentiates:
            return level.differentiates
    return ""


def parts_of_derivative(
    by: str, statement: Statement, target: Target, forward: list[Made], backward: list[Made]
) -> list[list[Made]]:
    """What each part of a tuple target stands for; nothing where it is not given by a derivative.

    Args:
      by: see `differentiating`; empty also where a decorator or another library asks for the derivative.
      forward, backward: what the statement makes, in the order of use.
    """
    count = len(target.parts)
    if by == "vjp":  # The second is a function, which returns the gradient.
        values = [[one] for one in forward] if count > len(forward) > 1 else [forward]
        return [values[0], [], *values[1:]]
    if by == PUSHING or count != len(("value", "gradient")) or not backward:
        return []
    if by == GRADIENT_AND_AUX:
        return [backward, forward]
    return [_value(statement, target.parts[0], forward), backward]


def _value(statement: Statement, target: Target, forward: Sequence[Made]) -> list[Made]:
    """What `jax.value_and_grad` gives first: the value, or with `has_aux` what comes with it too.

    Of libraries (`flax.nnx`) the state that a function has changed comes with it unseen.
    """
    scalars = [one for one in forward if one[0].aval.size == 1 and one[0].aval.dtype.kind in "fV"]
    if target.is_plain and len(scalars) == 1 and not is_taken_apart(statement, target.text):
        return scalars
    return list(forward)
