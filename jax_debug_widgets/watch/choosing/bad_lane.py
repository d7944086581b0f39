"""Which lane of a `vmap` has the first NaN of a value: one number beside its statistics."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_debug_widgets._jax.passes.slices import slice_of
from jax_debug_widgets.watch.statistics.layout import STATISTICS
from jax_debug_widgets.watch.statistics.recompute_plan import folded_transposes

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.lanes import Axes
    from jax_debug_widgets.events import Tap

_COUNTS = [STATISTICS.index(name) for name in ("nan", "posinf", "neginf")]
_MOST_LANES = 1 << 24
"""The most lanes: float32 tells so many numbers apart."""


def has_lane(aval: Any, axes: Axes) -> bool:
    """Whether a value of this type with these lanes has the statistic."""
    lanes = math.prod(aval.shape[axis] for axis in axes)
    return 1 < lanes <= _MOST_LANES and jnp.issubdtype(aval.dtype, jnp.inexact)


@dataclass(frozen=True)
class BadLanes:
    """How to have the statistic of some values of a body. Only where one of them is not finite is anything computed.

    Attributes:
      variables: what is read for it, which is in memory anyway.
      values: the arrays of these -> the values.
      rows: the row of each value in the table of statistics, its lanes, and the infinities that are meant.
    """

    variables: Sequence[Any]
    values: Callable[..., Sequence[jax.Array]]
    rows: Sequence[tuple[int, Axes, Collection[str]]]

    def beside(self, table: jax.Array, arrays: Sequence[jax.Array]) -> jax.Array:
        """The table with one column more."""
        if not self.rows:
            return table
        rows = np.array([row for row, _, _ in self.rows], np.int32)
        place = np.full(table.shape[0], len(rows), np.int32)
        place[rows] = np.arange(len(rows))

        def look(arrays: Sequence[jax.Array]) -> jax.Array:
            lanes = zip(self.values(*arrays), self.rows, strict=True)
            ranks = jnp.stack([_least_rank(value, axes, meant) for value, (_, axes, meant) in lanes])
            return jnp.where(ranks < 2 * _MOST_LANES, ranks % _MOST_LANES, -1).astype(jnp.float32)

        def none(arrays: Sequence[jax.Array]) -> jax.Array:
            # It must vary over the axes of a mesh as what is looked at does. XLA leaves only the number.
            ends = [one.ravel()[:1] for one in arrays]
            is_any = jnp.stack([(end != end).any() for end in ends]).any()  # noqa: PLR0124 - of any type.
            return jnp.where(is_any, jnp.full(len(rows), -1, jnp.float32), np.float32(-1))

        is_odd = (table[rows][:, np.array(_COUNTS)] > 0).any()
        found = lax.cond(is_odd, look, none, list(arrays))
        column = jnp.concatenate([found, jnp.full(1, -1, jnp.float32)])[place]
        return jnp.concatenate([table, column[:, None]], 1)


def bad_lanes(jaxpr: Any, variables: Sequence[Any], lanes: Sequence[Axes], taps: Sequence[Tap]) -> BadLanes:
    """How to have the statistic of those values of a body whose taps have it."""
    rows = [row for row, tap in enumerate(taps) if tap.site.watch and tap.site.watch.vmapped]
    part = slice_of(jaxpr, [variables[row] for row in rows], folded_transposes(jaxpr))
    meant = [tap.site.watch.meant if tap.site.watch else () for tap in taps]
    return BadLanes(part.variables, part.compute, [(row, lanes[row], meant[row]) for row in rows])


def _least_rank(value: jax.Array, axes: Axes, meant: Collection[str]) -> jax.Array:
    """The smallest rank of its elements: those of NaN come before those of infinity, these before the others."""
    # One fused reduction: `jnp.argmax` takes XLA ten times as long to compile.
    sizes = [value.shape[axis] for axis in axes]
    lane = jnp.zeros((), jnp.int32)
    for axis, size in zip(axes, sizes, strict=True):
        lane = lane * size + lax.broadcasted_iota(jnp.int32, value.shape, axis)
    is_nan = lax.ne(value, value)
    ranks = lax.select(is_nan, lane, lax.select(_is_infinite(value, meant), lane + _MOST_LANES, lane + 2 * _MOST_LANES))
    return lax.reduce(ranks, np.int32(3 * _MOST_LANES), lax.min, tuple(range(value.ndim)))


def _is_infinite(value: jax.Array, meant: Collection[str]) -> jax.Array:
    """Where it is infinite, but for the infinities that are meant."""
    if jnp.iscomplexobj(value):
        return lax.ne(value - value, value - value)
    infinity = np.asarray(np.inf, value.dtype)
    wanted = [sign for name, sign in (("posinf", infinity), ("neginf", -infinity)) if name not in meant]
    if not wanted:
        return jnp.zeros(value.shape, bool)
    found = [lax.eq(value, lax.full_like(value, sign)) for sign in wanted]
    return found[0] if len(found) == 1 else lax.bitwise_or(*found)
