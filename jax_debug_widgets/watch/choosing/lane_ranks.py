"""Find the first lane that is not finite, for many values at once: XLA compiles one reduction for all small values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.lanes import Axes

MOST_LANES = 1 << 24
"""The most lanes of a value: float32 represents every integer up to this one."""

_LEAST_RANK_OF_FINITE = 2 * MOST_LANES
_NEUTRAL = np.int32(3 * MOST_LANES)

_SMALL = 1 << 16
"""The most elements of a value that is copied into the table of small values."""

_ROW = 128
"""The number of elements in a row of that table."""


class LaneValue(NamedTuple):
    """A value, its axes that are lanes, and the infinities that the source intends."""

    array: jax.Array
    axes: Axes
    intended: Collection[str]


def first_bad_lanes(values: Sequence[LaneValue]) -> jax.Array:
    """Return float32[n]: for each value its first lane with a NaN, else its first with an unintended infinity, else -1."""
    small = [number for number, one in enumerate(values) if one.array.size <= _SMALL]
    large = [number for number, one in enumerate(values) if one.array.size > _SMALL]
    found = [_of_one(values[number])[None] for number in large]
    found += [_of_small([values[number] for number in small])] if small else []
    ranks = jnp.concatenate(found)[np.argsort([*large, *small]).astype(np.int32)]
    return jnp.where(ranks < _LEAST_RANK_OF_FINITE, ranks % MOST_LANES, -1).astype(jnp.float32)


def _of_one(value: LaneValue) -> jax.Array:
    """Return int32[]: the smallest rank of the value's elements. Ranks of NaN are lowest, then those of infinity."""
    # One fused reduction: XLA takes ten times as long to compile `jnp.argmax`.
    array = _narrowed(value.array)
    lane = jnp.zeros((), jnp.int32)
    for axis in value.axes:
        lane = lane * array.shape[axis] + lax.broadcasted_iota(jnp.int32, array.shape, axis)
    above, below = (np.bool_(name not in value.intended) for name in ("posinf", "neginf"))
    return lax.reduce(_ranks(array, lane, above, below), _NEUTRAL, lax.min, tuple(range(array.ndim)))


def _of_small(values: Sequence[LaneValue]) -> jax.Array:
    """Return int32[n]: `_of_one` of each value, computed in one table whose rows each hold elements of one value."""
    lengths = [-(-one.array.size // _ROW) for one in values]
    pieces: list[Any] = []
    for one, rows in zip(values, lengths, strict=True):
        array = lax.reshape(lax.convert_element_type(_narrowed(one.array), np.float32), (one.array.size,))
        filling = rows * _ROW - one.array.size
        pieces += [array, np.zeros(filling, np.float32)] if filling else [array]
    table = lax.concatenate(pieces, 0).reshape(-1, _ROW)
    owner = np.repeat(np.arange(len(values), dtype=np.int32), lengths)
    first = np.concatenate([np.arange(rows, dtype=np.int32) * _ROW for rows in lengths])
    offset = first[:, None] + lax.broadcasted_iota(jnp.int32, table.shape, 1)
    lane = jnp.zeros((), jnp.int32)
    for level in itertools.zip_longest(*map(_levels, values), fillvalue=(1, 1, 0)):
        stride, size, weight = np.stack([np.array(one, np.int32) for one in level], 1)[:, owner, None]
        lane = lane + offset // stride % size * weight
    wanted = np.array([[name not in one.intended for one in values] for name in ("posinf", "neginf")])[:, owner, None]
    ranks = lax.reduce(_ranks(table, lane, *wanted), _NEUTRAL, lax.min, (1,))
    is_mine = owner[None] == lax.broadcasted_iota(jnp.int32, (len(values), len(owner)), 0)
    return lax.reduce(jnp.where(is_mine, ranks[None], _NEUTRAL), _NEUTRAL, lax.min, (1,))


def _levels(value: LaneValue) -> list[tuple[int, int, int]]:
    """Return for each axis of lanes its stride in memory, its size, and how many lanes one step along it advances."""
    shape, axes = value.array.shape, value.axes
    sizes = [shape[axis] for axis in axes]
    return [
        (math.prod(shape[axis + 1 :]), size, math.prod(sizes[number + 1 :]))
        for number, (axis, size) in enumerate(zip(axes, sizes, strict=True))
    ]


def _narrowed(array: jax.Array) -> jax.Array:
    """Return numbers of at most 32 bits that are NaN or infinite exactly where the array's elements are."""
    if jnp.iscomplexobj(array):
        is_nan = lax.ne(array, array)
        is_infinite = lax.ne(array - array, array - array)
        return jnp.where(is_nan, np.float32(np.nan), jnp.where(is_infinite, np.float32(np.inf), np.float32(0)))
    return jnp.where(jnp.isfinite(array), 0, array).astype(jnp.float32) if array.dtype == np.float64 else array


def _ranks(array: jax.Array, lane: jax.Array, above: Any, below: Any) -> jax.Array:
    infinity = np.asarray(np.inf, array.dtype)
    is_infinite = (lax.eq(array, lax.full_like(array, infinity)) & above) | (
        lax.eq(array, lax.full_like(array, -infinity)) & below
    )
    return jnp.where(lax.ne(array, array), lane, lane + jnp.where(is_infinite, MOST_LANES, 2 * MOST_LANES))
