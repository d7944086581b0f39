"""Count the floating-point operations of an equation, and the bytes that it reads and writes, from its shapes.

These are figures of the program as it is written. XLA counts after it has rewritten it, and counts the body of a loop once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.studies.value_types import size_of, width_of

_MOVES = frozenset({
    "bitcast_convert_type", "broadcast", "broadcast_in_dim", "concatenate", "convert_element_type", "copy", "copy_p",
    "device_put", "dynamic_slice", "dynamic_update_slice", "empty", "empty2", "expand_dims", "gather", "iota",
    "optimization_barrier", "pad", "pvary", "random_unwrap", "random_wrap", "real", "imag", "reduce_precision", "reshape",
    "rev", "select_n", "sharding_constraint", "slice", "split", "squeeze", "stop_gradient", "transpose",
})  # fmt: skip
"""Primitives that only move numbers."""

_OF_OPERANDS = ("reduce_", "argmax", "argmin", "cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
"""How the names of primitives begin that need an operation for each element of their operands."""


def flops_of(equation: core.JaxprEqn) -> int:
    """Operations of one execution of an equation that runs no body: one for each element, but where its kind says more."""
    name, made = equation.primitive.name, sum(map(size_of, equation.outvars))
    if name in _COUNTED:
        return _COUNTED[name](equation, made)
    if name in _MOVES:
        return 0
    if name.startswith(_OF_OPERANDS):
        return sum(size_of(atom) for atom in equation.invars if not isinstance(atom, core.Literal))
    if name.startswith("scatter"):
        return 0 if name == "scatter" else size_of(equation.invars[2])
    return made


def nbytes_of(equation: core.JaxprEqn) -> int:
    """Bytes of an equation's operands and results, without literals: the bytes that it moves if nothing is fused with it."""
    return sum(map(width_of, (*equation.invars, *equation.outvars)))


def _shape(atom: Any) -> tuple[Any, ...]:
    return getattr(atom.aval, "shape", ())


def _of_product(equation: core.JaxprEqn, made: int) -> int:
    (contracted, _), _ = equation.params["dimension_numbers"]
    return 2 * made * math.prod(_shape(equation.invars[0])[axis] for axis in contracted)


def _of_convolution(equation: core.JaxprEqn, made: int) -> int:
    kernel, numbers = _shape(equation.invars[1]), equation.params["dimension_numbers"]
    return 2 * made * (math.prod(kernel) // kernel[numbers.rhs_spec[0]])


def _of_power(equation: core.JaxprEqn, made: int) -> int:
    """The operations of an integer power by repeated squaring."""
    power = abs(equation.params["y"])
    return made * max(1, power.bit_length() + power.bit_count() - 2)


_COUNTED: dict[str, Callable[[core.JaxprEqn, int], int]] = {
    "dot_general": _of_product,
    "conv_general_dilated": _of_convolution,
    "integer_pow": _of_power,
}
