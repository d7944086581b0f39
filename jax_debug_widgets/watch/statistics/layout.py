"""Define the layout that XLA's statistics and the native ones share: names and order, custom calls, limits of float32."""

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
"""Each bar of a histogram spans a factor of 2^3 = 8: below 2^-27, from there to 2^-24, …, from 2^12 on."""

EDGES = tuple(2.0**power for power in _POWERS)

_LOWER = ["0", *(f"2^{power}" for power in _POWERS)]

HISTOGRAM = (*(f"hist -{lower}" for lower in reversed(_LOWER)), *(f"hist +{lower}" for lower in _LOWER))
"""The name of each count: the sign and the lower edge of the magnitude. Zeros and non-finite elements are other statistics."""

CHAIN = "jax_debug_widgets_chain"
"""The custom call that runs a chain: its code, int32[1] its size, its numbers and its sources -> float32[n, k]."""

TABLE = "jax_debug_widgets_table"
"""The custom call that makes the table: int32[n] and pieces -> float32[n, width]. Each piece is a number, a row or
several rows. Row i of the result is the row that element i of the first operand selects; a number is padded with
zeros.
"""

TARGET = "jax_debug_widgets_statistics"
"""The custom call for one array: float32[...] -> float32[k]; for n arrays float32[n, ...] -> float32[n, k]. The columns
are `STATISTICS`.
"""

GPU = "jax_debug_widgets_statistics_of_all"
"""The custom call of the CUDA backend: int32[n] and arrays of the types of `GPU_TYPES` -> float32[n, width] and
float32[m]. Row i of the first result is for the array that element i of the first operand selects. The second result
is scratch memory of `scratch_of` numbers.
"""

GPU_WANTED = "jax_debug_widgets_statistics_if_wanted"
"""The same with a further operand after the first one, bool[]: where it is false, nothing is read, and the results are not
defined.
"""

GPU_TYPES = frozenset({
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "bfloat16", "complex64", "complex128", "float8_e5m2", "float8_e4m3fn",
})  # fmt: skip
"""The element types that the kernels read. XLA converts other arrays to float32."""

PER_BLOCK, MOST_BLOCKS, NUMBERS_OF_PART = 1 << 14, 1056, 16
"""Elements for each block of a GPU's threads; the most blocks of an array; float32 of scratch that a block needs."""


def scratch_of(sizes: Iterable[int]) -> int:
    """Return how many float32 of scratch the kernels need for arrays of these sizes."""
    sizes = list(sizes)
    blocks = sum(min(-(-size // PER_BLOCK), MOST_BLOCKS) for size in sizes if size > 1)
    return blocks * NUMBERS_OF_PART + 2 * len(sizes)


LARGEST, LEAST = float(np.finfo(np.float32).max), float(np.finfo(np.float32).tiny)

SMALL = 1e-16
"""The square of this number is still a normal float32.

An array is *odd* if it has a non-finite element, or if its squares leave float32: their sum overflows, or its largest
magnitude is at most `SMALL` and not zero.
"""
