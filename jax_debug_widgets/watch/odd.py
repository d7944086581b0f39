"""Statistics of arrays with NaN or Inf, or with elements whose squares float32 cannot hold, by NumPy."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

_BLOCK = 1 << 16
"""Elements that are looked at together: their copies stay in the processor's cache."""


def fill(table: np.ndarray, *arrays: np.ndarray) -> None:
    """Write the statistics of each array (see `statistics.STATISTICS`) into its column of `table`, float32[9, n]."""
    with np.errstate(all="ignore"):
        for column, array in enumerate(arrays):
            table[:, column] = _statistics(array)


def _statistics(array: np.ndarray) -> tuple[float, ...]:
    low, high, total, squares = math.inf, -math.inf, 0.0, 0.0
    finite = zeros = nan = above = below = 0.0
    for block in _blocks(array):
        is_finite = np.isfinite(block)
        kept = block[is_finite].astype(np.float64)
        if kept.size:
            low, high = min(low, kept.min()), max(high, kept.max())
        total, squares = total + kept.sum(), squares + np.square(kept).sum()
        finite, zeros = finite + kept.size, zeros + np.count_nonzero(kept == 0)
        nan = nan + np.count_nonzero(np.isnan(block))
        above, below = above + np.count_nonzero(block == np.inf), below + np.count_nonzero(block == -np.inf)
    mean = total / max(finite, 1)
    std = math.sqrt(max(squares / max(finite, 1) - mean * mean, 0))
    norm = math.nan if nan else math.inf if above or below else math.sqrt(squares)
    return low, high, mean, std, norm, zeros, nan, above, below


def _blocks(array: np.ndarray) -> Iterator[np.ndarray]:
    """Its elements as float32, of complex numbers their magnitudes."""
    flat = array.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        yield (np.abs(block) if block.dtype.kind == "c" else block).astype(np.float32, copy=False)
