"""Functions, compiled by Numba, that see float32 arrays block by block and write their statistics.

A block is a part of an array that stays in the processor's first cache: it is looked at several times, by loops that are
each vectorised. What was seen of some blocks and of others can be joined. Importing this module needs Numba.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from jax_debug_widgets.watch.statistics.layout import LARGEST, SMALL, STATISTICS

BLOCK = 1024
"""Elements: few enough for their sum to be exact enough in float32, and for ten such blocks to stay in the first cache."""

_FAR = 0.1
"""A spread below this part of the sum of squares would lose its last digits if it were computed from that sum."""

_INFINITY = np.int32(0x7F800000)
_MAGNITUDE = np.int32(0x7FFFFFFF)
_REORDERED = {"reassoc", "contract", "nsz"}
"""The liberties that a sum must allow to be vectorised. NaN and Inf keep their meaning."""


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
    """An integer for the bits of a float32, in the order of the floats. It is its own inverse. NaN is beyond the infinities."""
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
"""The places in `ends`, int64: the least and the greatest key, and the number of zeros."""

_TOTAL, _SQUARES, _APART, _COUNT, SUMS = range(5)
"""The places in `sums`, float64: the sums of the elements, of their squares, and of the squares of their distances from the
mean; the number of elements."""

_MIN, _MAX, _MEAN, _STD, _L2, _ZERO_COUNT, _NAN_COUNT, _POSINF_COUNT, _NEGINF_COUNT = map(
    STATISTICS.index, ("min", "max", "mean", "std", "l2", "zeros", "nan", "posinf", "neginf")
)
"""The places in a row of statistics."""


@njit
def begin(ends: Any, sums: Any) -> None:
    """Write that nothing was seen yet."""
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
    """Take in what was seen of other blocks."""
    if other_sums[_COUNT]:
        ends[_LOW], ends[_HIGH] = min(ends[_LOW], other_ends[_LOW]), max(ends[_HIGH], other_ends[_HIGH])
        ends[_ZEROS] += other_ends[_ZEROS]
        _add(sums, other_sums[_TOTAL], other_sums[_SQUARES], other_sums[_APART], other_sums[_COUNT])


@njit
def write_plain(out: Any, size: int, ends: Any, sums: Any) -> bool:
    """Write the statistics of the elements read, and return True; write nothing and return False if it is odd, see `SMALL`."""
    least, greatest = _float(_key(np.int32(ends[_LOW]))), _float(_key(np.int32(ends[_HIGH])))
    largest = max(-least, greatest)
    is_finite = ends[_LOW] > _key(np.int32(~_MAGNITUDE | _INFINITY)) and ends[_HIGH] < _INFINITY
    if not (is_finite and math.isfinite(sums[_SQUARES]) and (largest > SMALL or largest == 0)):
        return False
    _write(out, least, greatest, sums[_TOTAL], sums[_APART], size, math.sqrt(sums[_SQUARES]), ends[_ZEROS])
    return True


_ODD_LOW, _ODD_HIGH, _ODD_TOTAL, _ODD_SQUARES, _ODD_COUNT = range(5)
_ODD_ZEROS, _ODD_NAN, _ODD_POSINF, _ODD_NEGINF, ODD = range(5, 10)
"""The places in what is seen of an odd array, float64: least, greatest, sum, sum of squares, number and zeros of its finite
elements; then the numbers of NaN and of the infinities."""


@njit
def begin_odd(seen: Any) -> None:
    """Write that nothing was seen yet."""
    for kind in range(_ODD_TOTAL, ODD):
        seen[kind] = 0
    seen[_ODD_LOW], seen[_ODD_HIGH] = math.inf, -math.inf


@njit
def see_odd(x: Any, count: int, seen: Any) -> None:
    """Take in a block of `count` elements of float32[n], which need not be finite."""
    for i in range(count):
        value = x[i]
        if math.isnan(value):
            seen[_ODD_NAN] += 1
        elif value == math.inf:
            seen[_ODD_POSINF] += 1
        elif value == -math.inf:
            seen[_ODD_NEGINF] += 1
        else:
            exact = np.float64(value)
            seen[_ODD_LOW], seen[_ODD_HIGH] = min(seen[_ODD_LOW], exact), max(seen[_ODD_HIGH], exact)
            seen[_ODD_TOTAL], seen[_ODD_SQUARES] = seen[_ODD_TOTAL] + exact, seen[_ODD_SQUARES] + exact * exact
            seen[_ODD_COUNT], seen[_ODD_ZEROS] = seen[_ODD_COUNT] + 1, seen[_ODD_ZEROS] + (value == 0)


@njit
def join_odd(seen: Any, other: Any) -> None:
    """Take in what was seen of other blocks."""
    seen[_ODD_LOW], seen[_ODD_HIGH] = min(seen[_ODD_LOW], other[_ODD_LOW]), max(seen[_ODD_HIGH], other[_ODD_HIGH])
    for kind in range(_ODD_TOTAL, ODD):
        seen[kind] += other[kind]


@njit
def write_odd(out: Any, seen: Any) -> None:
    """Write the statistics of what was seen, whatever it is."""
    is_infinite = seen[_ODD_POSINF] + seen[_ODD_NEGINF] > 0
    norm = math.nan if seen[_ODD_NAN] else math.inf if is_infinite else min(math.sqrt(seen[_ODD_SQUARES]), LARGEST)
    count, total = max(seen[_ODD_COUNT], 1.0), seen[_ODD_TOTAL]
    spread = seen[_ODD_SQUARES] - total * total / count
    _write(out, seen[_ODD_LOW], seen[_ODD_HIGH], total, spread, count, norm, seen[_ODD_ZEROS])
    if not seen[_ODD_COUNT]:
        out[_MIN] = out[_MAX] = out[_MEAN] = out[_STD] = math.nan
    out[_NAN_COUNT], out[_POSINF_COUNT], out[_NEGINF_COUNT] = seen[_ODD_NAN], seen[_ODD_POSINF], seen[_ODD_NEGINF]


@njit
def _write(
    out: Any, low: float, high: float, total: float, spread: float, count: float, norm: float, zeros: float
) -> None:
    out[_MIN], out[_MAX], out[_MEAN] = low, high, total / count
    out[_STD] = math.sqrt(max(spread / count, 0.0))
    out[_L2], out[_ZERO_COUNT] = norm, zeros
    out[_NAN_COUNT] = out[_POSINF_COUNT] = out[_NEGINF_COUNT] = 0
