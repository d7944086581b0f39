"""Compute on arrays for checks: which elements are bad, how many, the first of them, and its bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def odd(array: Any) -> Any:
    """Return which elements are not finite."""
    return lax.bitwise_not(lax.is_finite(array))


def not_numbers(array: Any) -> Any:
    """Return which elements are NaN."""
    return lax.ne(array, array)


def worst(array: Any) -> Any:
    """Return a number that is NaN if an element is NaN, else infinite if one is infinite, else finite.

    It is the sum of square roots, which is finite for finite elements. XLA's maximum may miss a NaN: on a CPU for some
    thousand elements, and for arrays that devices share.
    """
    wide = lax.convert_element_type(array, np.float32) if array.dtype.itemsize < _WORD else array
    if wide.size == 1:
        return lax.abs(lax.reshape(wide, ()))
    roots = lax.sqrt(lax.abs(_long_enough(wide)))
    return lax.reduce_sum(roots, tuple(range(roots.ndim)))


_WORD = np.dtype(np.float32).itemsize

_FEW, _MANY = 256, 4096
"""On a CPU an array of `_FEW` numbers or more is padded to `_MANY`, from where on a library computes its sum.

XLA takes 1 ms to compile such a sum, and 45 ms to compile a sum of fewer numbers.
"""


def _long_enough(array: Any) -> Any:
    """Return the array, padded with zeros along its last axis if it has a few hundred elements."""
    if not _FEW <= array.size < _MANY or jax.default_backend() != "cpu" or not jax.typeof(array).sharding.mesh.empty:
        return array
    missing = -(-_MANY * array.shape[-1] // array.size) - array.shape[-1]
    edges = [(0, 0, 0)] * (array.ndim - 1)
    return lax.pad(array, np.zeros((), array.dtype), [*edges, (0, missing, 0)])


def joined(how: Callable[[Any, Any], Any], numbers: Sequence[Any]) -> Any:
    """Join numbers by an associative operation.

    Some are joined at a time, with a barrier between: XLA takes many seconds to compile a kernel of hundreds of operands.
    """
    numbers = list(numbers)
    while len(numbers) > _TOGETHER:
        groups = [numbers[at : at + _TOGETHER] for at in range(0, len(numbers), _TOGETHER)]
        numbers = list(lax.optimization_barrier([reduce(how, group) for group in groups]))
    return reduce(how, numbers)


_TOGETHER = 16


def worst_of_all(arrays: Sequence[Any]) -> Any:
    """Return a number that is NaN if an element of an array is NaN, else infinite if one is infinite, else finite.

    It is the sum of the arrays' worst numbers, which are not negative.
    """
    numbers = [worst(one) for one in arrays]
    dtype = jnp.result_type(*(one.dtype for one in numbers)) if numbers else np.dtype(np.float32)
    wide = [lax.convert_element_type(one, dtype) for one in numbers]
    return joined(lax.add, wide) if wide else np.zeros((), dtype)


def none_of(numbers: Sequence[Any], how: Any) -> Any:
    """Return whether `how` holds for none of `numbers`, as a boolean scalar."""
    found = np.bool_(True)
    for number in numbers:
        found = lax.bitwise_and(found, lax.bitwise_not(how(number)))
    return found


def number_of(truth: Any) -> Any:
    """Convert truth values to 0 and 1, int32."""
    return lax.convert_element_type(truth, np.int32)


def count_and_first(bad: Any, chosen: Any = None) -> list[Any]:
    """Return how many are True, and the flat position of the first True of `chosen` (of `bad` by default), both int32.

    Without a True, the position is the last one. Both are found in one reduction, which XLA compiles to one kernel.
    """
    chosen = bad if chosen is None else chosen
    last = np.int32(bad.size - 1)
    if bad.size == 1:
        return [lax.reshape(number_of(bad), ()), last]
    numbers = lax.reshape(lax.iota(np.int32, bad.size), bad.shape)
    places = lax.select(chosen, numbers, lax.full_like(numbers, last))

    def both(one: Any, other: Any) -> Any:
        return lax.add(one[0], other[0]), lax.min(one[1], other[1])

    return lax.reduce((number_of(bad), places), (np.int32(0), last), both, tuple(range(bad.ndim)))


def element_at(array: Any, position: Any) -> Any:
    """Return the element at a flat position of an int32 or boolean array, by a reduction, which XLA can fuse."""
    if array.size == 1:
        return lax.reshape(array, ())
    numbers = lax.reshape(lax.iota(np.int32, array.size), array.shape)
    here = lax.eq(numbers, lax.full_like(numbers, position))
    if array.dtype == np.bool_:
        return lax.reduce_or(lax.bitwise_and(here, array), tuple(range(array.ndim)))
    least = lax.full_like(array, np.iinfo(np.int32).min)
    return lax.reduce_max(lax.select(here, array, least), tuple(range(array.ndim)))
