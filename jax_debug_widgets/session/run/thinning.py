"""Choose few of many numbers, so that a line through them looks like the line through all: a spike stays."""

from __future__ import annotations

import itertools

import numpy as np


def thinned(values: np.ndarray, stretches: int) -> np.ndarray:
    """Return the indices of the numbers to draw: the ends, the first that is not finite, and the extremes of each stretch."""
    if len(values) <= 2 * stretches:
        return np.arange(len(values))
    edges = np.linspace(0, len(values), stretches + 1).astype(int)
    found = [0, len(values) - 1, *np.flatnonzero(~np.isfinite(values))[:1].tolist()]
    for start, stop in itertools.pairwise(edges.tolist()):
        part = values[start:stop]
        finite = np.isfinite(part)
        if not finite.all():
            found.append(start + int(np.argmin(finite)))
        if finite.any():
            inner = np.flatnonzero(finite)
            found += [start + int(inner[pick(part[inner])]) for pick in (np.argmin, np.argmax)]
    return np.unique(found)
