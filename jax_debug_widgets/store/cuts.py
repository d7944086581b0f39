"""Cut a batch of firings into segments."""

from __future__ import annotations

import numpy as np

from jax_debug_widgets.events import FiringBatch
from jax_debug_widgets.store.segment import LARGE

_SEGMENT_FIRINGS = 16384
_SEGMENT_BYTES = 1 << 20
"""The memory of a segment is freed as a whole, so these limits bound how much more memory a run holds than its budget."""


def cuts(batch: FiringBatch) -> list[int]:
    """Return the firing after the end of each segment. A large firing is a segment, so that it can be dropped alone."""
    if not len(batch):
        return []
    nbytes = batch.of_each([tap.nbytes for tap in batch.taps])
    large = np.flatnonzero(nbytes > LARGE)
    if len(batch) <= _SEGMENT_FIRINGS and nbytes.sum() < _SEGMENT_BYTES and not len(large):
        return [len(batch)]
    group = np.arange(len(batch)) // _SEGMENT_FIRINGS + np.cumsum(nbytes) // _SEGMENT_BYTES
    borders = np.concatenate([np.flatnonzero(np.diff(group)) + 1, large, large + 1, [len(batch)]])
    return [border for border in np.unique(borders).tolist() if border]
