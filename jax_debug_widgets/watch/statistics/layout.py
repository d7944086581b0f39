"""The layout that XLA's statistics and the native ones share: names and order, the custom calls, the limits of float32."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

STATISTICS = ("min", "max", "mean", "std", "l2", "zeros", "nan", "posinf", "neginf")
"""The statistics of an array: `min` to `std` of its finite elements (NaN where there are none), the norm of all, and counts.

A row of them is float32[k], where k is `len(STATISTICS)`.
"""

SCALAR = ("value",)
"""The statistic of a single number: the number itself."""

LANES = "lanes"
"""The name of the table of lanes among the values of its site."""

_POWERS = range(-27, 13, 3)
"""Each bar of a histogram is three powers of two wide: below 2^-27, from there to 2^-24, …, from 2^12 on."""

EDGES = tuple(2.0**power for power in _POWERS)

_LOWER = ["0", *(f"2^{power}" for power in _POWERS)]

HISTOGRAM = (*(f"hist -{lower}" for lower in reversed(_LOWER)), *(f"hist +{lower}" for lower in _LOWER))
"""The name of each count: the sign and the lower edge of the magnitude. Zeros and what is not finite are statistics."""

CHAIN = "jax_debug_widgets_chain"
"""The custom call that runs a chain: its code, int32[1] its size, its numbers and its sources -> float32[n, k]."""

TABLE = "jax_debug_widgets_table"
"""The custom call that makes the table: int32[n], and pieces that are a number, a row or rows each -> float32[n, width], of
their rows those with these numbers; a number is filled up with zeros."""

TARGET = "jax_debug_widgets_statistics"
"""The custom call: float32[...] -> float32[k], or float32[n, ...] -> float32[n, k], in the order of `STATISTICS`."""

GPU = "jax_debug_widgets_statistics_of_all"
"""The custom call of the CUDA backend: int32[n], and arrays of the types of `GPU_TYPES` -> float32[n, width], of the arrays'
rows those with these numbers; and float32[m], scratch of `scratch_of` numbers."""

GPU_TYPES = frozenset({
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "bfloat16", "complex64", "complex128", "float8_e5m2", "float8_e4m3fn",
})  # fmt: skip
"""The element types that the kernels read. Other arrays are converted to float32 by XLA."""

PER_BLOCK, MOST_BLOCKS, NUMBERS_OF_PART = 1 << 14, 1056, 16
"""Elements that are worth a block of a GPU's threads; the most blocks of an array; float32 of scratch that a block needs."""


def scratch_of(sizes: Iterable[int]) -> int:
    """How many float32 of scratch the kernels need for arrays of these sizes."""
    sizes = list(sizes)
    blocks = sum(min(-(-size // PER_BLOCK), MOST_BLOCKS) for size in sizes if size > 1)
    return blocks * NUMBERS_OF_PART + 2 * len(sizes)


LARGEST, LEAST = float(np.finfo(np.float32).max), float(np.finfo(np.float32).tiny)

SMALL = 1e-16
"""A square of this is still far from where float32 ends.

An array is *odd* if it has a non-finite element, or if its squares leave float32: their sum overflows, or its largest
magnitude is at most `SMALL` and not zero.
"""
