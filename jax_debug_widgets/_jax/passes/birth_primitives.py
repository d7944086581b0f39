"""Tell which primitives may make the first NaN or infinity, and which of them do so element by element; see `births`."""

from __future__ import annotations

from collections.abc import Sequence

_HANDS_ON = frozenset(
    {
        "broadcast_in_dim",
        "concatenate",
        "copy",
        "copy_p",
        "device_put",
        "dynamic_slice",
        "dynamic_update_slice",
        "expand_dims",
        "iota",
        "name",
        "optimization_barrier",
        "pad",
        "pbroadcast",
        "pvary",
        "reshape",
        "rev",
        "select_n",
        "sharding_constraint",
        "slice",
        "split",
        "squeeze",
        "stop_gradient",
        "transpose",
    }
)
"""Primitives that only move, copy or select elements, or make finite ones: none of them can be the birth of a NaN."""

_COLLECTIVES = frozenset(
    {
        "all_gather",
        "all_gather_invariant",
        "all_gather_reduced",
        "all_to_all",
        "pgather",
        "pmax",
        "pmin",
        "ppermute",
        "psum",
        "psum2",
        "psum_invariant",
        "ragged_all_to_all",
        "reduce_scatter",
    }
)
"""Primitives whose result depends on values of other devices, which a check does not see."""

_KEEPS_FINITE = frozenset(
    {
        "abs",
        "atan",
        "ceil",
        "clamp",
        "cummax",
        "cummin",
        "erf",
        "erfc",
        "floor",
        "logistic",
        "max",
        "min",
        "neg",
        "reduce_max",
        "reduce_min",
        "round",
        "sign",
        "tanh",
    }
)
"""Primitives whose result is finite if their operands are, and NaN only if an operand is."""

ELEMENTWISE = frozenset(
    {
        "acos", "acosh", "add", "add_any", "asin", "asinh", "atan2", "atanh", "bessel_i0e", "bessel_i1e", "cbrt",
        "convert_element_type", "cos", "cosh", "digamma", "div", "erf_inv", "exp", "exp2", "expm1", "igamma", "igammac",
        "integer_pow", "lgamma", "log", "log1p", "mul", "nextafter", "polygamma", "pow", "random_gamma_grad",
        "reduce_precision", "rem", "rsqrt", "sin", "sinh", "sqrt", "square", "sub", "tan", "zeta",
    }
)  # fmt: skip
"""Primitives whose result has elements that each depend only on the operands' elements at the same position."""


def may_be_birth(primitive: str) -> bool:
    """Whether the result of a primitive, or function of JAX, may be the first that is not finite."""
    return primitive not in _HANDS_ON and primitive not in _COLLECTIVES and primitive not in _KEEPS_FINITE


def is_elementwise(primitive: str, operands: Sequence[tuple[int, ...]], result: tuple[int, ...]) -> bool:
    """Whether each element of the result depends only on the elements at its position; the operands have these shapes."""
    return primitive in ELEMENTWISE and all(_goes_with(one, result) for one in operands)


def _goes_with(shape: tuple[int, ...], result: tuple[int, ...]) -> bool:
    """Whether an operand is a scalar, or has the axes of the result, some of length 1."""
    if len(shape) != len(result):
        return not shape
    return all(own in (1, length) for own, length in zip(shape, result, strict=True))
