"""What `jax.grad` and its kin give is not what the function they differentiate returns: which part is which."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from jax_debug_widgets._jax.copies import Given, leaf_given_back
from jax_debug_widgets._jax.frames import GRADIENT, GRADIENT_AND_AUX, VALUE_AND_GRADIENT
from jax_debug_widgets.watch.body import Body, Call, Made
from jax_debug_widgets.watch.loads import is_taken_apart, loads_of_targets
from jax_debug_widgets.watch.source import Statement, Target, is_library
from jax_debug_widgets.watch.takers import takers_of

WITH_FUNCTION = ("vjp", "linearize")
"""What gives a function as the second result, which pulls back or pushes."""

_FLAX = re.compile(r"[\\/]flax[\\/]nnx[\\/]")
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
    made = body.maker_of(equation.invars[0]) if leaf_given_back(equation) else None
    there = [(one.file, one.span) for one in body.levels[made[1]][depth : depth + 1]] if made else []
    return made[1] if made and there == [(levels[depth].file, levels[depth].span)] else number


def without_changed_state(
    body: Body, call: Call, statement: Statement, escaping: list[Made], members: list[int]
) -> list[Made]:
    """Without the state of modules that `flax.nnx.grad` hands on unseen: the counters of dropouts, the means of norms.

    What nothing takes by the names that are assigned is such.
    """
    _, *inner = body.levels[members[0]][call.depth :]
    is_of_flax = inner and _FLAX.search(inner[0].file) and differentiating(body, members[0], call.depth)
    if statement.is_return or not is_of_flax:
        return escaping
    seen = taken_or_returned(body, call, statement, escaping, members)
    return [one for one in escaping if body.uses.transposed[one[1]] or one in seen]


def taken_or_returned(
    body: Body, call: Call, statement: Statement, made: Sequence[Made], members: list[int]
) -> list[Made]:
    """What of that which a statement makes its function takes by the names that are assigned, or returns."""
    loads = loads_of_targets(statement)

    def is_seen(one: Made) -> bool:
        takers = takers_of(body, call, one[0], set(members))
        return any(taken.span is None or any(map(taken.span.contains, loads)) for taken in takers)

    return [one for one in made if is_seen(one)]


def parts_given_back(body: Body, made: Sequence[Made], depth: int) -> list[list[Made]]:
    """What `jax.jvp` or `jax.linearize` gives to who calls it from a frame: the values, their tangents or a function, and aux.

    Nothing where neither is called there.
    """
    leaves = [(leaf_given_back(body.equations[one[1]]), one) for one in made if len(body.levels[one[1]]) == depth + 1]
    told = sorted(((leaf.part.value, leaf.number, one) for leaf, one in leaves if leaf), key=lambda one: one[:2])
    return [[one for part, _, one in told if part == own.value] for own in Given] if told else []


def parts_of_derivative(
    by: str, statement: Statement, target: Target, forward: list[Made], backward: list[Made]
) -> list[list[Made]]:
    """What each part of a tuple target stands for; nothing where it is not given by a derivative.

    Args:
      by: see `differentiating`; empty also where a decorator or another library asks for the derivative.
      forward, backward: what the statement makes, in the order of use.
    """
    count = len(target.parts)
    if by in WITH_FUNCTION:
        values = [[one] for one in forward] if count > len(forward) > 1 else [forward]
        return [values[0], [], *values[1:]]
    if by == GRADIENT or count != len(("value", "gradient")):
        return []
    if not backward:  # A rule of JAX's own may make the gradient of which it keeps no place.
        values = _value(statement, target.parts[0], forward)
        return [values if len(values) == 1 else [], []] if by == VALUE_AND_GRADIENT else []
    if by == GRADIENT_AND_AUX:
        return [backward, forward]
    return [_value(statement, target.parts[0], forward), backward]


def _value(statement: Statement, target: Target, forward: Sequence[Made]) -> list[Made]:
    """What `jax.value_and_grad` gives first: the value, or with `has_aux` the value and what comes with it.

    Of libraries (`flax.nnx`) the state that a function has changed comes with it unseen.
    """
    scalars = [one for one in forward if one[0].aval.size == 1 and one[0].aval.dtype.kind in "fV"]
    if target.is_plain and len(scalars) == 1 and not is_taken_apart(statement, target.text):
        return scalars
    if target.parts and len(scalars) == 1:
        return [*scalars, *(one for one in forward if one not in scalars)]
    return list(forward)
