"""Join neighbouring prints into one call of the host.

A call out of a compiled program costs more than our work in it: the program's data leave the processor's caches, and Python's
come in. So small unordered prints with little computed between them are joined into one call, in the order of the source,
which is one of the orders that JAX allows. A print that XLA may hoist out of a loop is not joined.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from jax_debug_widgets._jax.compat.private import core, debugging
from jax_debug_widgets._jax.origins.equation import Recorder
from jax_debug_widgets._jax.origins.place import Place
from jax_debug_widgets._jax.passes.tap import debug_tap_p, is_ordered

_SMALL = 64
"""The most elements of a print's values: values of a joined print stay in memory longer."""

_ELEMENTWISE = """abs add and ceil clamp convert_element_type div eq exp floor ge gt imag integer_pow is_finite le log lt max
    min mul ne neg not or pow real rem round rsqrt select_n sign sqrt square sub"""
_REDUCTIONS = "argmax argmin reduce_and reduce_max reduce_min reduce_or reduce_sum"
_SHAPES = """axis_index broadcast_in_dim concatenate copy copy_p named dynamic_slice iota pcast pvary reshape slice squeeze
    stop_gradient transpose"""
_QUICK = frozenset(f"{_ELEMENTWISE} {_REDUCTIONS} {_SHAPES}".split())
"""Primitives that may be between joined prints: a print must not wait for a matrix product, a loop, or another device."""


def with_joined_prints(equations: Sequence[core.JaxprEqn], place: Place) -> list[core.JaxprEqn]:
    """Join prints of a body with only quick equations between them into one equation, behind these.

    Args:
      equations: the equations of the body; its prints are `debug_tap`s with recorders.
      place: the place at the end of the body.
    """

    def belongs(equation: core.JaxprEqn) -> bool:
        return _is_quick(equation) or _can_join(equation, place)

    joined: list[core.JaxprEqn] = []
    for together, group in itertools.groupby(equations, belongs):
        neighbours = list(group)
        joined += _joined(neighbours) if together else neighbours
    return joined


def _joined(group: Sequence[core.JaxprEqn]) -> Sequence[core.JaxprEqn]:
    prints = [one for one in group if one.primitive is debug_tap_p]
    if len(prints) <= 1:
        return group
    return [*(one for one in group if one.primitive is not debug_tap_p), _as_one(prints)]


def _can_join(equation: core.JaxprEqn, place: Place) -> bool:
    if equation.primitive is not debug_tap_p or equation.params["inner"] is not debugging.debug_print_p:
        return False
    options = dict(equation.params["params"])
    is_small = sum(cast("Any", variable.aval).size for variable in equation.invars) <= _SMALL
    is_steady = bool(place.loops) and all(map(place.is_steady, equation.invars))
    return is_small and not is_steady and not is_ordered(options) and not options["partitioned"]


def _is_quick(equation: core.JaxprEqn) -> bool:
    if equation.primitive.name in ("jit", "pjit"):
        return not equation.effects and all(map(_is_quick, equation.params["jaxpr"].eqns))
    return equation.primitive.name in _QUICK


def _as_one(prints: Sequence[core.JaxprEqn]) -> core.JaxprEqn:
    operands = [operand for one in prints for operand in one.invars]
    ends = np.cumsum([len(one.invars) for one in prints]).tolist()
    parts = [slice(end - len(one.invars), end) for end, one in zip(ends, prints, strict=True)]
    record = _in_turn([one.params["record"] for one in prints], parts)
    return prints[-1].replace(invars=operands, params={**prints[-1].params, "record": record})


def _in_turn(recorders: Sequence[Recorder], parts: Sequence[slice]) -> Recorder:
    each = tuple(zip(recorders, parts, strict=True))

    def record(*arrays: np.ndarray) -> tuple[()]:
        for one, part in each:
            one(*arrays[part])
        return ()

    joined: Any = record
    joined.parts = each
    return joined
