"""Recognise values that are zero but for the rounding of float64, such as the difference of two equal sums.

An error relative to such a value says nothing: it is as large as the rounding errors of float64 are small. The scale of such
a value is the size of the numbers that cancel in it, and its errors are relative to that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

ZERO = 2.0**-40
"""The part of its scale up to which a value is zero; the rounding errors of a long float64 computation are below it."""

_ADDS = frozenset({
    "add", "add_any", "cumsum", "reduce_sum", "reduce_window_sum", "scatter-add", "scatter-sub", "sub",
})  # fmt: skip
"""Primitives in whose results numbers cancel."""

_ADDS_PRODUCTS = frozenset({"conv_general_dilated", "dot_general"})

_KEEPS = frozenset({
    "abs", "broadcast_in_dim", "concatenate", "convert_element_type", "copy", "dynamic_slice", "dynamic_update_slice",
    "expand_dims", "gather", "max", "min", "neg", "pad", "reduce_max", "reduce_min", "reshape", "rev", "select_n", "slice",
    "squeeze", "stop_gradient", "transpose",
})  # fmt: skip
"""Primitives whose results are their operands, moved."""


def scale_of(
    primitive: str, sizes: Sequence[float], scales: Sequence[float], size: float, terms: float, power: float
) -> float:
    """Return the scale of a result that is zero but for rounding; 0 for every other result.

    Args:
      primitive: the name of the primitive.
      sizes: the root mean square of each operand, or its scale if that is larger.
      scales: the scale of each operand; 0 for those that are not zero.
      size: the root mean square of the result.
      terms: how many numbers are added for each number of the result.
      power: the power to which the operand is raised; 0 if it is not.
    """
    scale = 0.0
    if primitive in _ADDS:
        scale = terms * max(sizes, default=0.0)
    elif primitive in _ADDS_PRODUCTS:
        scale = terms * math.prod(sizes)
    elif any(scales):
        scale = _carried(primitive, sizes, scales, power)
    return scale if size <= ZERO * scale and math.isfinite(scale) else 0.0


def _carried(primitive: str, sizes: Sequence[float], scales: Sequence[float], power: float) -> float:
    """Return the scale that a result has from operands that are zero."""
    if primitive in _KEEPS:
        return max(scales)
    if primitive == "mul":
        return math.prod(sizes)
    if primitive == "div" and not scales[1] and sizes[1]:
        return sizes[0] / sizes[1]
    return sizes[0] ** power if power > 0 else 0.0
