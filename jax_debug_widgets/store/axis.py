"""Place events on an axis of steps: the twin of `move` of `Series` in `js/src/store/series.ts`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from jax_debug_widgets.events import Nesting


def along_steps(
    step: np.ndarray,
    inner: np.ndarray,
    nestings: Sequence[Nesting],
    kind: np.ndarray,
    call: np.ndarray,
    execution: np.ndarray,
    device: np.ndarray,
    occurrence: np.ndarray,
) -> np.ndarray:
    """Return the place of each event of one site on the axis of steps, float64[n].

    The place is the step of the outermost loop, counted on from one call to the next. Inner loops are fractions of a step.
    Iterations 0, 1, 2, … of an inner `while`, which has no known length, stand at 0, 1/2, 2/3, … of the step. Outside loops
    the place is the number of the execution. If that is not known, it is the number of firings before on that device.

    Args:
      step, inner, call, execution, device, occurrence: int64[n] of one site's events, in arrival order; see `Columns`.
      nestings: type of the site -> its nesting in loops.
      kind: int64[n], the type of each event.
    """
    x = occurrence.astype(np.float64)
    has_loops = _of_each(kind, [bool(one.loops) for one in nestings], dtype=bool)
    for number in numbers_in(device):
        mine = device == number
        known = np.flatnonzero(mine & (step >= 0))
        if len(known):
            at, turns = _places(step[known], np.maximum(inner[known], 0), nestings, kind[known])
            x[known] = _counted_on(at, turns, call[known], execution[known], nestings, kind[known])
        others = np.flatnonzero(mine & (step < 0))
        if number >= 0 and len(others):
            x[others] = np.unique(occurrence[others], return_inverse=True)[1]
    return np.where(has_loops | (execution < 0), x, execution)


def _of_each(kind: np.ndarray, values: Sequence[float], dtype: type = np.float64) -> np.ndarray:
    """Return the value of each event's type."""
    return np.array(values, dtype)[kind]


def numbers_in(column: np.ndarray) -> list[int]:
    """Return the distinct numbers of a column, ascending. Most columns have one number, and sorting takes long."""
    if len(column) and (column == column[0]).all():
        return [int(column[0])]
    return np.unique(column).tolist()


def _places(
    outer: np.ndarray, flat: np.ndarray, nestings: Sequence[Nesting], kind: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the place of each event in its call, float64[n], and the place if all loops ran from the start, float64[n].

    The second one only rises within a call.
    """
    at, turns = np.zeros(len(outer)), np.zeros(len(outer))
    for number in numbers_in(kind):
        mine, loops, reverse = kind == number, nestings[number].loops, nestings[number].reverse
        own = outer[mine] + _fraction(flat[mine] / math.prod(length or 1 for length in loops[1:]), loops)
        at[mine] = own
        turns[mine] = _turns(outer[mine], flat[mine], loops, reverse) if any(reverse) else own
    return at, turns


def _turns(outer: np.ndarray, flat: np.ndarray, loops: Sequence[int | None], reverse: Sequence[bool]) -> np.ndarray:
    """Return the place of each event if all loops ran from the start, float64[n]. It rises as the loops run."""
    turn, count = np.zeros(len(flat)), 1
    for length, is_reversed in zip(loops[:0:-1], reverse[:0:-1], strict=True):
        flat, digit = np.divmod(flat, length) if length else (np.zeros_like(flat), flat)
        turn += count * ((length or 1) - 1 - digit if is_reversed else digit)
        count *= length or 1
    return _fraction(turn / count, loops) + (-outer if reverse[0] else outer)


def _fraction(iterations: np.ndarray, loops: Sequence[int | None]) -> np.ndarray:
    """Return the part of an outermost step that has passed.

    Args:
      iterations: the number of inner iterations that have passed; their share of all if the lengths are known.
    """
    is_open = len(loops) > 1 and loops[1] is None
    return iterations / (1 + iterations) if is_open else iterations


def _counted_on(
    at: np.ndarray,
    turns: np.ndarray,
    call: np.ndarray,
    execution: np.ndarray,
    nestings: Sequence[Nesting],
    kind: np.ndarray,
) -> np.ndarray:
    latest = np.maximum.accumulate(execution)
    begins = np.concatenate([[True], (np.diff(call) != 0) | (np.diff(turns) < 0) | (np.diff(latest) > 0)])
    lengths = np.floor(np.maximum.reduceat(at, np.flatnonzero(begins))) + 1
    known = _of_each(kind[begins], [one.loops[0] or 0 if one.loops else 0 for one in nestings])
    leaps = _of_each(kind[begins], [one.leap for one in nestings])
    # Steps after the last one that fired belong to the call too.
    lengths = np.where((lengths < known) & (known < lengths + leaps), known, lengths)
    # Executions without a firing take their place before the first execution that follows them.
    left_out = np.maximum(np.diff(latest[begins], prepend=-1) - 1, 0) * known
    return (np.cumsum(lengths + left_out) - lengths)[np.cumsum(begins) - 1] + at
