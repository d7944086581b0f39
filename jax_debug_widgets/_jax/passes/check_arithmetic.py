"""The arithmetic of checks on arrays: which elements are bad, how many, the first of them, and its bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jax import lax


def odd(array: Any) -> Any:
    """Which elements are not finite."""
    return lax.bitwise_not(lax.is_finite(array))


def not_numbers(array: Any) -> Any:
    """Which elements are NaN."""
    return lax.ne(array, array)


def largest(array: Any) -> Any:
    """The largest absolute value of an array: NaN if an element is NaN, else infinite if one is infinite.

    XLA's maximum alone may leave out a NaN: on a CPU of some thousand elements, and of arrays that devices share.
    """
    wide = lax.convert_element_type(array, np.float32) if array.dtype.itemsize == 1 else array
    axes = tuple(range(array.ndim))
    found = lax.reduce_max(lax.abs(wide), axes)
    return lax.select(lax.reduce_or(not_numbers(wide), axes), lax.full_like(found, np.nan), found)


def none_of(numbers: Sequence[Any], how: Any) -> Any:
    """Whether `how` holds for none of `numbers`, as a boolean scalar."""
    found = np.bool_(True)
    for number in numbers:
        found = lax.bitwise_and(found, lax.bitwise_not(how(number)))
    return found


def number_of(truth: Any) -> Any:
    """Truth values as 0 and 1, int32."""
    return lax.convert_element_type(truth, np.int32)


def counted(truths: Any) -> Any:
    """How many are True."""
    return lax.reduce_sum(number_of(truths), tuple(range(truths.ndim)))


def first_of(truths: Any) -> Any:
    """The flat position of the first True, int32; the last position if there is none."""
    if truths.size == 1:
        return np.int32(0)
    numbers = lax.reshape(lax.iota(np.int32, truths.size), truths.shape)
    last = lax.full_like(numbers, truths.size - 1)
    return lax.reduce_min(lax.select(truths, numbers, last), tuple(range(truths.ndim)))


def element_at(array: Any, position: Any) -> Any:
    """The element at a flat position of an int32 or boolean array, by a reduction, which XLA can fuse."""
    if array.size == 1:
        return lax.reshape(array, ())
    numbers = lax.reshape(lax.iota(np.int32, array.size), array.shape)
    here = lax.eq(numbers, lax.full_like(numbers, position))
    if array.dtype == np.bool_:
        return lax.reduce_or(lax.bitwise_and(here, array), tuple(range(array.ndim)))
    least = lax.full_like(array, np.iinfo(np.int32).min)
    return lax.reduce_max(lax.select(here, array, least), tuple(range(array.ndim)))
