"""Take whole values, down-sampled on the device where they are large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jax

MAX_ELEMENTS = 1 << 16
"""Elements of one value that leave the device: a picture of 256 x 256."""


def strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The stride along each axis, so that at most `MAX_ELEMENTS` are taken: the longest axes give most."""
    taken = [1] * len(shape)
    while _size(shape, taken) > MAX_ELEMENTS:
        lengths = [-(-size // stride) for size, stride in zip(shape, taken, strict=True)]
        taken[lengths.index(max(lengths))] *= 2
    return tuple(taken)


def whole_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the sample that is taken of a value of this shape."""
    return tuple(-(-size // stride) for size, stride in zip(shape, strides(shape), strict=True))


def sampled(array: jax.Array) -> Any:
    """The value, or every n-th row and column of it."""
    taken = strides(array.shape)
    if all(stride == 1 for stride in taken):
        return array
    return array[tuple(slice(None, None, stride) for stride in taken)]


def _size(shape: tuple[int, ...], taken: list[int]) -> int:
    size = 1
    for length, stride in zip(shape, taken, strict=True):
        size *= -(-length // stride)
    return size
