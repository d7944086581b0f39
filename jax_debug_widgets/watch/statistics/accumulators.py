"""What is seen of float32 arrays, block by block, for their statistics: as functions that Numba compiles.

A block is a part of an array that stays in the processor's first cache: it is looked at several times, by loops that are
each vectorised. What was seen of some blocks and of others can be joined. Importing this module needs Numba.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from jax_debug_widgets.watch.statistics.layout import LARGEST, SMALL

BLOCK = 1024
"""Elements: few enough for their sum to be exact enough in float32, and for ten such blocks to stay in the first cache."""

_FAR = 0.1
"""What part of the sum of squares their spread is, where it loses its last digits in that."""

_INFINITY = np.int32(0x7F800000)
_MAGNITUDE = np.int32(0x7FFFFFFF)
_REORDERED = {"reassoc", "contract", "nsz"}
"""What a sum must allow to be vectorised. NaN and Inf keep their meaning."""


@njit(fastmath=_REORDERED)
def _sums(x: Any, count: int) -> Any:
    """The sum of a block and of its squares."""
    total = squares = np.float32(0)
    for i in range(count):
        value = x[np.uint64(i)]  # Unsigned: an index that may be negative is not vectorised.
        total += value
        squares += value * value
    return total, squares


@njit(fastmath=_REORDERED)
def _deviations(x: Any, count: int, middle: Any) -> Any:
    """The sum of a block's distances from a number, and of their squares."""
    total = squares = np.float32(0)
    for i in range(count):
        value = x[np.uint64(i)] - middle
        total += value
        squares += value * value
    return total, squares


def _bits_as_float(_typing: Any, _bits: Any) -> Any:
    def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.float32))

    return types.float32(types.int32), emit


_float: Any = intrinsic(_bits_as_float)


@njit
def _key(bits: Any) -> Any:
    """Of the bits of a float32 an integer that is ordered as they are; its own inverse. NaN is beyond the infinities."""
    return np.int32(bits ^ np.int32(np.int32(bits >> np.int32(31)) & _MAGNITUDE))


@njit
def _ends(bits: Any, count: int, low: Any, high: Any) -> Any:
    """The least and the greatest key, and the number of zeros. Integers: comparing floats is not vectorised."""
    zeros = np.uint32(0)
    for i in range(count):
        one = bits[np.uint64(i)]
        key = _key(one)
        low, high = min(low, key), max(high, key)
        zeros = np.uint32(zeros + np.uint32(np.int32(one & _MAGNITUDE) == np.int32(0)))
    return low, high, zeros


_LOW, _HIGH, _ZEROS, ENDS = range(4)
"""Of what was seen, int64: the least and the greatest key, and the number of zeros."""

_TOTAL, _SQUARES, _APART, _COUNT, SUMS = range(5)
"""Of the same, float64: the sum of the elements, of their squares, of those of their distances from the mean, and how many."""


@njit
def begin(ends: Any, sums: Any) -> None:
    """Nothing was seen."""
    ends[_LOW], ends[_HIGH], ends[_ZEROS] = _MAGNITUDE, ~_MAGNITUDE, 0
    sums[:] = 0.0


@njit
def see(x: Any, bits: Any, count: int, ends: Any, sums: Any) -> None:
    """Take in a block of `count` elements of float32[n]; `bits` are the same as int32[n]."""
    total, squares = _sums(x, count)
    low, high, zeros = _ends(bits, count, np.int32(ends[_LOW]), np.int32(ends[_HIGH]))
    ends[_LOW], ends[_HIGH] = low, high
    ends[_ZEROS] += zeros
    exact, spread = np.float64(total), np.float64(squares) - np.float64(total) * total / count
    if spread < _FAR * squares:
        # The squares of elements far from zero say nothing of how they are spread: those of their distances from the
        # block's mean do, while the block is in the first cache; the means of blocks are apart in float64.
        middle = np.float32(total / np.float32(count))
        aside, away = _deviations(x, count, middle)
        exact = np.float64(middle) * count + aside
        spread = np.float64(away) - np.float64(aside) * aside / count
    _add(sums, exact, squares, spread, count)


@njit
def _add(sums: Any, total: float, squares: float, spread: float, count: float) -> None:
    """Merge a non-empty batch into the running sums, correcting the spread for the distance between the means."""
    seen = sums[_COUNT]
    apart = total / count - sums[_TOTAL] / seen if seen else 0.0
    sums[_APART] += spread + apart * apart * seen * count / (seen + count)
    sums[_TOTAL] += total
    sums[_SQUARES] += squares
    sums[_COUNT] = seen + count


@njit
def join(ends: Any, sums: Any, other_ends: Any, other_sums: Any) -> None:
    """What was seen of other blocks was seen as well."""
    if other_sums[_COUNT]:
        ends[_LOW], ends[_HIGH] = min(ends[_LOW], other_ends[_LOW]), max(ends[_HIGH], other_ends[_HIGH])
        ends[_ZEROS] += other_ends[_ZEROS]
        _add(sums, other_sums[_TOTAL], other_sums[_SQUARES], other_sums[_APART], other_sums[_COUNT])


@njit
def write_plain(out: Any, size: int, ends: Any, sums: Any) -> bool:
    """Write the statistics of what was seen; false if it is odd: not finite, or squared too large or too small for float32."""
    least, greatest = _float(_key(np.int32(ends[_LOW]))), _float(_key(np.int32(ends[_HIGH])))
    largest = max(-least, greatest)
    is_finite = ends[_LOW] > _key(np.int32(~_MAGNITUDE | _INFINITY)) and ends[_HIGH] < _INFINITY
    if not (is_finite and math.isfinite(sums[_SQUARES]) and (largest > SMALL or largest == 0)):
        return False
    _write(out, least, greatest, sums[_TOTAL], sums[_APART], size, math.sqrt(sums[_SQUARES]), ends[_ZEROS])
    return True


ODD = 9
"""Of what is odd: least, greatest, sum, squares, number and zeros of the finite elements; NaN, infinities."""


@njit
def begin_odd(seen: Any) -> None:
    """Nothing was seen."""
    for kind in range(2, ODD):
        seen[kind] = 0
    seen[0], seen[1] = math.inf, -math.inf


@njit
def see_odd(x: Any, count: int, seen: Any) -> None:
    """Take in a block of `count` elements of float32[n], which need not be finite."""
    for i in range(count):
        value = x[i]
        if math.isnan(value):
            seen[6] += 1
        elif value == math.inf:
            seen[7] += 1
        elif value == -math.inf:
            seen[8] += 1
        else:
            exact = np.float64(value)
            seen[0], seen[1] = min(seen[0], exact), max(seen[1], exact)
            seen[2], seen[3] = seen[2] + exact, seen[3] + exact * exact
            seen[4], seen[5] = seen[4] + 1, seen[5] + (value == 0)


@njit
def join_odd(seen: Any, other: Any) -> None:
    """What was seen of other blocks was seen as well."""
    seen[0], seen[1] = min(seen[0], other[0]), max(seen[1], other[1])
    for kind in range(2, ODD):
        seen[kind] += other[kind]


@njit
def write_odd(out: Any, seen: Any) -> None:
    """Write the statistics of what was seen, whatever it is."""
    norm = math.nan if seen[6] else math.inf if seen[7] or seen[8] else min(math.sqrt(seen[3]), LARGEST)
    count = max(seen[4], 1.0)
    _write(out, seen[0], seen[1], seen[2], seen[3] - seen[2] * seen[2] / count, count, norm, seen[5])
    if not seen[4]:
        out[:4] = math.nan
    out[6], out[7], out[8] = seen[6], seen[7], seen[8]


@njit
def _write(
    out: Any, low: float, high: float, total: float, spread: float, count: float, norm: float, zeros: float
) -> None:
    out[0], out[1], out[2] = low, high, total / count
    out[3] = math.sqrt(max(spread / count, 0.0))
    out[4], out[5] = norm, zeros
    out[6] = out[7] = out[8] = 0
