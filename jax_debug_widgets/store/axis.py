"""Where on an axis of steps events stand: the twin of `Series.move` in `js/src/store/series.ts`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def along_steps(
    step: np.ndarray,
    inner: np.ndarray,
    loops: Sequence[int | None],
    reverse: Sequence[bool],
    leap: int,
    call: np.ndarray,
    execution: np.ndarray,
    device: np.ndarray,
    occurrence: np.ndarray,
) -> np.ndarray:
    """float64[n]: the step of the outermost loop, inner loops as its fractions, counting on from one call to the next.

    Iterations 0, 1, 2, … of a `while` in it, of which nobody knows how many there will be, stand at 0, 1/2, 2/3, … of it.
    Outside loops it is which execution of the site it was, and where neither is known how often that had fired, on that device.

    Args:
      step, inner, call, execution, device, occurrence: int64[n] of one site's events, in arrival order; see `Columns`.
      loops, reverse: of the loops around it, outermost first, how many iterations they have and which run from the end.
      leap: every how manieth iteration of the outermost it fires in.
    """
    x = occurrence.astype(np.float64)
    for number in np.unique(device).tolist():
        mine = device == number
        told = np.flatnonzero(mine & (step >= 0))
        if len(told):
            outer, flat = step[told], np.maximum(inner[told], 0)
            at = outer + _fraction(flat / math.prod(length or 1 for length in loops[1:]), loops)
            turns = _turns(outer, flat, loops, reverse) if any(reverse) else at
            x[told] = _counted_on(at, turns, call[told], execution[told], loops, leap)
        others = np.flatnonzero(mine & (step < 0))
        if number >= 0 and len(others):
            x[others] = np.unique(occurrence[others], return_inverse=True)[1]
    return x if loops else np.where(execution < 0, x, execution)


def _turns(outer: np.ndarray, flat: np.ndarray, loops: Sequence[int | None], reverse: Sequence[bool]) -> np.ndarray:
    """float64[n]: the same as `at` for loops none of which runs from the end: it rises as they run."""
    turn, count = np.zeros(len(flat)), 1
    for length, is_reversed in zip(loops[:0:-1], reverse[:0:-1], strict=True):
        flat, digit = np.divmod(flat, length) if length else (np.zeros_like(flat), flat)
        turn += count * ((length or 1) - 1 - digit if is_reversed else digit)
        count *= length or 1
    return _fraction(turn / count, loops) + (-outer if reverse[0] else outer)


def _fraction(iterations: np.ndarray, loops: Sequence[int | None]) -> np.ndarray:
    """Where in a step of the outermost loop stands what comes after so many, or this part, of the iterations inside it."""
    is_open = len(loops) > 1 and loops[1] is None
    return iterations / (1 + iterations) if is_open else iterations


def _counted_on(
    at: np.ndarray,
    turns: np.ndarray,
    call: np.ndarray,
    execution: np.ndarray,
    loops: Sequence[int | None],
    leap: int,
) -> np.ndarray:
    latest = np.maximum.accumulate(execution)
    begins = np.concatenate([[True], (np.diff(call) != 0) | (np.diff(turns) < 0) | (np.diff(latest) > 0)])
    lengths = np.floor(np.maximum.reduceat(at, np.flatnonzero(begins))) + 1
    if loops[0] is not None:  # Those after the last that fired are of the call, too.
        lengths[(lengths < loops[0]) & (loops[0] < lengths + leap)] = loops[0]
    # Those in which nothing has fired come before the first that follows them.
    left_out = np.maximum(np.diff(latest[begins], prepend=-1) - 1, 0) * (loops[0] or 0)
    return (np.cumsum(lengths + left_out) - lengths)[np.cumsum(begins) - 1] + at
