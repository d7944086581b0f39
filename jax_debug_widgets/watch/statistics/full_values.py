"""Take whole values, down-sampled on the device where they are large."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jax

MAX_ELEMENTS = 1 << 16
"""The most elements of one value that leave the device: a picture of 256 x 256."""

_BYTES = 4
"""The bytes of a single number's statistic."""


def strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the stride along each axis at which at most `MAX_ELEMENTS` are taken: the longest axes are strided first."""
    taken = [1] * len(shape)
    while _size(shape, taken) > MAX_ELEMENTS:
        lengths = [-(-size // stride) for size, stride in zip(shape, taken, strict=True)]
        taken[lengths.index(max(lengths))] *= 2
    return tuple(taken)


def sample_text(shape: tuple[int, ...]) -> str:
    """Return the words for what is taken of a value of this shape: `every 2nd along axis 0`; empty if it is taken whole."""
    taken = [(axis, stride) for axis, stride in enumerate(strides(shape)) if stride > 1]
    return " and ".join(f"every {_ordinal(stride)} along axis {axis}" for axis, stride in taken)


def _ordinal(power: int) -> str:
    """Write a power of two as an ordinal: 2nd, 4th, 32nd, 512th."""
    is_second = power % 10 == 2 and power % 100 != 12  # noqa: PLR2004 - as in English.
    return f"{power}{'nd' if is_second else 'th'}"


def whole_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the sample that is taken of a value of this shape; () for a single number."""
    return (
        ()
        if math.prod(shape) == 1
        else tuple(-(-size // stride) for size, stride in zip(shape, strides(shape), strict=True))
    )


def is_taken_whole(aval: Any) -> bool:
    """Whether a value is taken whole on request: not if its statistic already has all of it, as of a float32 scalar."""
    return aval.size > 1 or is_wide(aval)


def is_wide(aval: Any) -> bool:
    """Whether a value is a single number with more bits than its statistic: a float64, an int64, a complex number."""
    return aval.size == 1 and aval.dtype.itemsize > _BYTES


def sampled(array: jax.Array) -> Any:
    """Return the value, or every n-th row and column of it."""
    if array.size == 1:
        return array.reshape(())
    taken = strides(array.shape)
    if all(stride == 1 for stride in taken):
        return array
    return array[tuple(slice(None, None, stride) for stride in taken)]


def _size(shape: tuple[int, ...], taken: list[int]) -> int:
    size = 1
    for length, stride in zip(shape, taken, strict=True):
        size *= -(-length // stride)
    return size
