"""Find indices of `lax.switch` that no branch has: JAX silently takes the first or the last branch (S6).

JAX clamps the index before the branch, so the equation that clamps it is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import jax.numpy as jnp
from jax import lax

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.callers import CALLER
from jax_debug_widgets._jax.origins.frames import Frame, is_users
from jax_debug_widgets._jax.passes.check_arithmetic import count_and_first, element_at
from jax_debug_widgets._jax.passes.checked import BodyFacts, Check

SWITCH = "switch"
"""The name of JAX's function, and of the primitive in the records of these checks."""


@dataclass(frozen=True)
class Switch:
    """The facts about the index of a switch: its shape, and which of its axes are lanes of a `vmap`."""

    shape: tuple[int, ...]
    lanes: tuple[int, ...]


def clamps_index(equation: Any) -> bool:
    """Return whether an equation clamps integers, and may do so because the number of branches is its bound."""
    if equation.primitive.name != "clamp":
        return False
    low, index, _ = equation.invars
    is_zero = not isinstance(low, core.Literal) or not low.val
    return is_zero and bool(jnp.issubdtype(index.aval.dtype, jnp.integer)) and index.aval.size > 0


def check_of_switch(equation: Any, frames: tuple[Frame, ...], body: BodyFacts) -> Check | None:
    """Return the check of a switch; None for other functions that clamp.

    An un-jitted operation does not know its caller; the finding is made if that calls `lax.switch`. The record: how many
    indices are outside, the position of the first, this index, and the number of the last branch.
    """
    traceback = equation.source_info.traceback
    names = [
        one.function_name
        for one in takewhile(lambda one: not is_users(one.file_name), traceback.frames if traceback is not None else ())
    ]
    if frames[0] is not CALLER and SWITCH not in names:
        return None
    _, index, last = equation.invars
    shape = index.aval.shape
    facts = Switch(shape, tuple(body.lanes(equation, frames, shape)))
    return Check(facts, [index, last], _outside, SWITCH, taken=_zeros_elsewhere)


def _outside(index: Any, last: Any) -> Sequence[Any]:
    limit = lax.broadcast(last, index.shape) if last.shape != index.shape else last
    is_outside = lax.bitwise_or(lax.lt(index, lax.full_like(index, 0)), lax.gt(index, limit))
    count, first = count_and_first(is_outside)
    return [count, first, *(element_at(lax.convert_element_type(one, "int32"), first) for one in (index, limit))]


def _zeros_elsewhere(taken: Any, index: Any, last: Any) -> Sequence[Any]:
    return [lax.select(taken, index, lax.full_like(index, 0)), last]
