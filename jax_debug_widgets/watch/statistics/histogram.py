"""Compute signed histograms of the logarithm of magnitudes, on the arrays' own devices."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jax_debug_widgets.watch.statistics.layout import EDGES, HISTOGRAM
from jax_debug_widgets.watch.statistics.statistics import as_float


def counts(array: jax.Array) -> jax.Array:
    """Return float32[len(HISTOGRAM)]: how many finite elements are in each bar, the largest negative magnitudes first."""
    x = as_float(array).ravel()
    bars = len(EDGES) + 1
    magnitude = sum((jnp.abs(x) >= np.float32(edge)).astype(jnp.int32) for edge in EDGES)
    bar = jnp.where(x < 0, bars - 1 - magnitude, bars + magnitude)
    bar = jnp.where(jnp.isfinite(x) & (x != 0), bar, -1)
    # A scatter would count one element after the other.
    return (bar[:, None] == jnp.arange(len(HISTOGRAM), dtype=bar.dtype)[None]).sum(0, dtype=jnp.float32)


def beside(table: jax.Array, arrays: Sequence[jax.Array], rows: Sequence[int]) -> jax.Array:
    """Return the table of statistics with the counts of each array appended, in the order of `rows`.

    Single numbers have zeros.
    """
    none = jnp.zeros(len(HISTOGRAM), jnp.float32)
    counted = [counts(array) if array.size > 1 else none for array in arrays]
    return jnp.concatenate([table, jnp.stack([counted[row] for row in rows])], 1)
