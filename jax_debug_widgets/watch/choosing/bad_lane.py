"""Compute which lane of a `vmap` has the first NaN of a value: one number beside its statistics."""

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
from jax_debug_widgets._jax.passes.written_values import folded_transposes
from jax_debug_widgets.watch.choosing.lane_ranks import MOST_LANES, LaneValue, first_bad_lanes
from jax_debug_widgets.watch.statistics.layout import STATISTICS

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.lanes import Axes
    from jax_debug_widgets.events import Tap

_COUNTS = [STATISTICS.index(name) for name in ("nan", "posinf", "neginf")]


def has_lane(aval: Any, axes: Axes) -> bool:
    """Whether a value of this type with these lanes has the statistic."""
    lanes = math.prod(aval.shape[axis] for axis in axes)
    return 1 < lanes <= MOST_LANES and jnp.issubdtype(aval.dtype, jnp.inexact)


@dataclass(frozen=True)
class BadLanes:
    """Computes the first bad lane of some values of a body, only if one of them has a NaN or an infinity.

    Attributes:
      variables: the variables that are read; they are in memory anyway.
      values: a function from the arrays of `variables` to the values.
      rows: the row of each value in the table of statistics, its axes that are lanes, and the infinities that the
        program intends.
    """

    variables: Sequence[Any]
    values: Callable[..., Sequence[jax.Array]]
    rows: Sequence[tuple[int, Axes, Collection[str]]]

    def beside(self, table: jax.Array, arrays: Sequence[jax.Array]) -> jax.Array:
        """Return the table with one more column."""
        if not self.rows:
            return table
        rows = np.array([row for row, _, _ in self.rows], np.int32)
        place = np.full(table.shape[0], len(rows), np.int32)
        place[rows] = np.arange(len(rows))

        def look(arrays: Sequence[jax.Array]) -> jax.Array:
            found = zip(self.values(*arrays), self.rows, strict=True)
            return first_bad_lanes([LaneValue(array, axes, intended) for array, (_, axes, intended) in found])

        def none(arrays: Sequence[jax.Array]) -> jax.Array:
            if not arrays:  # The values are computed from constants.
                return jnp.full(len(rows), -1, jnp.float32)
            # Under `shard_map` both branches must vary over the same mesh axes. XLA reduces this to the constant -1.
            ends = [lax.reshape(lax.slice(one, [0] * one.ndim, [1] * one.ndim), (1,)) for one in arrays]
            is_any = lax.reduce_or(lax.concatenate([lax.ne(end, end) for end in ends], 0), (0,))
            return jnp.where(is_any, jnp.full(len(rows), -1, jnp.float32), np.float32(-1))

        is_odd = (table[rows][:, np.array(_COUNTS)] > 0).any()
        found = lax.cond(is_odd, look, none, list(arrays))
        column = jnp.concatenate([found, jnp.full(1, -1, jnp.float32)])[place]
        return jnp.concatenate([table, column[:, None]], 1)


def bad_lanes(jaxpr: Any, variables: Sequence[Any], lanes: Sequence[Axes], taps: Sequence[Tap]) -> BadLanes:
    """Plan this statistic for the values whose taps include it."""
    rows = [row for row, tap in enumerate(taps) if tap.site.watch and tap.site.watch.vmapped]
    part = slice_of(jaxpr, [variables[row] for row in rows], folded_transposes(jaxpr))
    intended = [tap.site.watch.intended if tap.site.watch else () for tap in taps]
    return BadLanes(part.variables, part.compute, [(row, lanes[row], intended[row]) for row in rows])
