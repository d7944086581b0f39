"""Handle callbacks whose operands XLA may split over devices: one equation for each lane, with the lane's number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.equation import DebugCall, Lanes
from jax_debug_widgets._jax.origins.place import Place
from jax_debug_widgets._jax.passes.operands import (
    computed,
)
from jax_debug_widgets._jax.passes.tap import debug_tap_p, in_order


def number_of_lane(described: DebugCall, place: Place) -> tuple[list[core.JaxprEqn], Any]:
    """Return the equations that compute how many lanes around an equation come before it, and the variable of the result."""
    lanes = [(one, loop.length) for one, loop in zip(place.counters, described.loops, strict=True) if loop.lanes]

    def number(*counters: Any) -> Any:
        before = counters[0]
        for counter, (_, length) in zip(counters[1:], lanes[1:], strict=True):
            before = before * np.int32(length or 0) + counter
        return before

    counters = [counter for counter, _ in lanes]
    return computed(number, counters) if len(counters) > 1 else ([], *counters)


def is_in_parts(params: Mapping[str, Any], place: Place) -> bool:
    return bool(params.get("partitioned")) and place.mesh is None


def one_a_lane(equation: core.JaxprEqn, place: Place) -> list[core.JaxprEqn]:
    """Replace a tap by one equation for each lane, as JAX does, if XLA may split its operands between the lanes."""
    if equation.primitive is not debug_tap_p or not is_in_parts(dict(equation.params["params"]), place):
        return [equation]
    lanes, equations = equation.params["lanes"], []
    params = {**equation.params, "lanes": Lanes((), ((),) * len(equation.invars))}
    for lane in in_order(lanes):
        operands = []
        for operand, axes in zip(equation.invars, lanes.mapped, strict=True):
            index = tuple(i for i, present in zip(lane, axes, strict=True) if present)
            taken, one = computed(lambda value, index=index: value[index], [operand]) if index else ([], operand)
            equations += taken
            operands.append(one)
        equations.append(equation.replace(invars=operands, params=params))
    return equations
