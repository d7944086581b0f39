"""Count the floating-point operations of an equation, and the bytes that it reads and writes, from its shapes.

These are figures of the program as it is written. XLA counts the body of a loop once, and leaves out transcendental functions,
products with padding, and what no result needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.studies.value_types import size_of, width_of

_MOVES = frozenset({
    "all_gather", "all_gather_invariant", "all_to_all", "axis_index", "bitcast_convert_type", "broadcast",
    "broadcast_in_dim", "concatenate", "convert_element_type", "copy", "copy_p", "device_put", "dynamic_slice",
    "dynamic_update_slice", "empty", "empty2", "expand_dims", "gather", "get", "imag", "iota", "name",
    "optimization_barrier", "pad", "pcast", "ppermute", "pvary", "random_unwrap", "random_wrap", "real",
    "reduce_precision", "reshape", "reshard", "rev", "select_n", "sharding_constraint", "slice", "split", "squeeze",
    "stack", "stop_gradient", "swap", "transpose", "unstack",
})  # fmt: skip
"""Primitives that only move numbers."""

_READS_PLACES = frozenset({"dynamic_slice", "gather", "slice"})
"""Primitives that read of their first operand no more than they give."""

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
    if name == "sort":
        return size_of(equation.invars[0])
    if name.startswith("scatter"):
        return 0 if name == "scatter" else size_of(equation.invars[2])
    return made


def nbytes_of(equation: core.JaxprEqn) -> int:
    """Bytes that an equation reads and writes, without literals, if nothing is fused with it.

    These are its operands and results; of an array that it only reads in places, these places.
    """
    made, operands = sum(map(width_of, equation.outvars)), list(equation.invars)
    if equation.primitive.name in _READS_PLACES:
        return made + min(made, width_of(operands[0])) + sum(map(width_of, operands[1:]))
    return made + sum(map(width_of, operands))


def _shape(atom: Any) -> tuple[Any, ...]:
    return getattr(atom.aval, "shape", ())


def _of_product(equation: core.JaxprEqn, made: int) -> int:
    (contracted, _), _ = equation.params["dimension_numbers"]
    return 2 * made * math.prod(_shape(equation.invars[0])[axis] for axis in contracted)


def _of_convolution(equation: core.JaxprEqn, made: int) -> int:
    """A product and a sum for each element of the kernel at each of its places.

    Along an axis it has as many places as the shorter of input and output: it is not counted at the zeros that a transposed
    convolution puts between and around the elements of its input.
    """
    kernel, numbers = _shape(equation.invars[1]), equation.params["dimension_numbers"]
    before, after = _shape(equation.invars[0]), _shape(equation.outvars[0])
    fewer = 1.0
    for own, result in zip(numbers.lhs_spec[2:], numbers.out_spec[2:], strict=True):
        fewer *= min(before[own], after[result]) / max(after[result], 1)
    return round(2 * made * fewer * (math.prod(kernel) // kernel[numbers.rhs_spec[0]]))


def _of_power(equation: core.JaxprEqn, made: int) -> int:
    """The operations of an integer power by repeated squaring."""
    power = abs(equation.params["y"])
    return made * max(1, power.bit_length() + power.bit_count() - 2)


def _of_ragged_product(equation: core.JaxprEqn, made: int) -> int:
    (contracted, _), _ = equation.params["ragged_dot_dimension_numbers"].dot_dimension_numbers
    return 2 * made * math.prod(_shape(equation.invars[0])[axis] for axis in contracted)


def _of_solve(equation: core.JaxprEqn, made: int) -> int:
    """A triangular system: a product and a sum for each element of the triangle and each right-hand side."""
    return made * _shape(equation.invars[0])[-1]


def _of_transform(equation: core.JaxprEqn, made: int) -> int:
    """A Fourier transform: `5 n log2 n` for `n` complex numbers, half of it for real ones."""
    is_real = equation.params["fft_type"].name in ("RFFT", "IRFFT")
    points = max(made, *map(size_of, equation.invars))
    return round((2.5 if is_real else 5) * points * math.log2(max(math.prod(equation.params["fft_lengths"]), 1)))


def _of_factors(rectangle: float, square: float) -> Callable[[core.JaxprEqn, int], int]:
    """Of `m` by `n` matrices, where `n` is the smaller size: `rectangle m n² + square n³`, the usual estimates."""

    def count(equation: core.JaxprEqn, _made: int) -> int:
        shape, size = _shape(equation.invars[0]), size_of(equation.invars[0])
        least, most = sorted(shape[-2:])
        return round(size * least * (rectangle + square * least / most)) if size else 0

    return count


_COUNTED: dict[str, Callable[[core.JaxprEqn, int], int]] = {
    "dot_general": _of_product,
    "conv_general_dilated": _of_convolution,
    "integer_pow": _of_power,
    "ragged_dot_general": _of_ragged_product,
    "triangular_solve": _of_solve,
    "fft": _of_transform,
    "cholesky": _of_factors(0, 1 / 3),
    "lu": _of_factors(1, -1 / 3),
    **dict.fromkeys(("geqrf", "householder_product"), _of_factors(2, -2 / 3)),
    "hessenberg": _of_factors(0, 10 / 3),
    "tridiagonal": _of_factors(0, 4 / 3),
    "eigh": _of_factors(0, 9),
    **dict.fromkeys(("eig", "schur"), _of_factors(0, 25)),
    "svd": _of_factors(6, 20),
}
"""Decompositions are counted as in Golub and Van Loan, "Matrix Computations", with their vectors."""
