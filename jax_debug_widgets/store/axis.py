"""Where on an axis of steps events stand: the twin of `Series.move` in `js/src/store/series.ts`."""

from __future__ import annotations

import numpy as np


def along_steps(
    step: np.ndarray,
    inner: np.ndarray,
    inner_count: int,
    call: np.ndarray,
    device: np.ndarray,
    occurrence: np.ndarray,
) -> np.ndarray:
    """float64[n]: the step of the outermost loop, inner loops as its fractions, counting on from one call to the next.

    Where the step is not known it is how often the site had fired, on that device.

    Args:
      step, inner, call, device, occurrence: int64[n] of one site's events, in arrival order; see `Columns`.
      inner_count: iterations of the loops inside the outermost, for each iteration of that.
    """
    x = occurrence.astype(np.float64)
    for number in np.unique(device).tolist():
        mine = device == number
        told = np.flatnonzero(mine & (step >= 0))
        if len(told):
            x[told] = _counted_on(step[told] + np.maximum(inner[told], 0) / inner_count, call[told])
        others = np.flatnonzero(mine & (step < 0))
        if number >= 0 and len(others):
            x[others] = np.unique(occurrence[others], return_inverse=True)[1]
    return x


def _counted_on(at: np.ndarray, call: np.ndarray) -> np.ndarray:
    begins = np.concatenate([[True], (np.diff(call) != 0) | (np.diff(at) < 0)])
    ends = np.concatenate([begins[1:], [True]])
    lengths = np.floor(at[ends]) + 1
    return (np.cumsum(lengths) - lengths)[np.cumsum(begins) - 1] + at
