"""The statistics of an array in one pass, compiled by Numba, as a custom call of XLA's CPU backend.

XLA takes six passes for them and vectorises none of them well; this takes a tenth to a twentieth of the time, and next
to nothing to compile into a program. Importing this module needs Numba; the machine code is kept on disk, and Numba looks
at no other file to see whether it is still right.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import carray, cfunc, njit, types
from numba.extending import intrinsic

from jax_debug_widgets._jax.ffi import (
    ARGUMENT_COUNT,
    ARGUMENTS,
    FRAME_WORDS,
    RESULTS,
    array_of,
    asks_for_version,
    pointer,
    register,
    words,
)
from jax_debug_widgets.watch.chain import FILL, LOAD, OPERATIONS, SPREAD
from jax_debug_widgets.watch.statistics import CHAIN, SMALL, STATISTICS, TABLE

TARGET = "jax_debug_widgets_statistics"
"""The custom call: float32[...] -> float32[9], or float32[n, ...] -> float32[n, 9], in the order of `statistics.STATISTICS`."""

_BLOCK = 2048
"""Elements that stay in the processor's first cache, and few enough for their sum to be exact in float32."""

_FAR = 0.1
"""What part of the sum of squares their spread is, where it loses its last digits in that."""

_INFINITY = np.int32(0x7F800000)
_MAGNITUDE = np.int32(0x7FFFFFFF)
_STATISTICS = len(STATISTICS)
_REORDERED = {"reassoc", "contract", "nsz"}
"""What a sum must allow to be vectorised. NaN and Inf keep their meaning."""


@njit(fastmath=_REORDERED)
def _sums(x: Any, start: int, count: int) -> Any:
    """The sum of a block and of its squares."""
    total = squares = np.float32(0)
    for i in range(count):
        value = x[np.uint64(start) + np.uint64(i)]  # Unsigned: an index that may be negative is not vectorised.
        total += value
        squares += value * value
    return total, squares


@njit(fastmath=_REORDERED)
def _deviations(x: Any, start: int, count: int, middle: Any) -> Any:
    """The sum of a block's distances from a number, and of their squares."""
    total = squares = np.float32(0)
    for i in range(count):
        value = x[np.uint64(start) + np.uint64(i)] - middle
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
def _ends(bits: Any, start: int, count: int, low: Any, high: Any) -> Any:
    """The least and the greatest key, and the number of zeros. Integers: comparing floats is not vectorised."""
    zeros = np.uint32(0)
    for i in range(count):
        one = bits[np.uint64(start) + np.uint64(i)]
        key = _key(one)
        low, high = min(low, key), max(high, key)
        zeros = np.uint32(zeros + np.uint32(np.int32(one & _MAGNITUDE) == np.int32(0)))
    return low, high, zeros


_LOW, _HIGH, _ZEROS = 0, 1, 2
_TOTAL, _SQUARES, _APART, _COUNT, _SUMS = 0, 1, 2, 3, 4


@njit
def _begin(ends: Any, sums: Any) -> None:
    """Nothing was seen.

    `ends` int64[3]: least and greatest key, zeros; `sums` float64[4]: of elements, of their squares, of those of their
    distances from the mean, and how many elements there were.
    """
    ends[_LOW], ends[_HIGH], ends[_ZEROS] = _MAGNITUDE, ~_MAGNITUDE, 0
    sums[:] = 0.0


@njit
def _see(x: Any, bits: Any, start: int, count: int, ends: Any, sums: Any) -> None:
    """Take in a block of float32[n]; `bits` are the same as int32[n]."""
    total, squares = _sums(x, start, count)
    low, high, zeros = _ends(bits, start, count, np.int32(ends[_LOW]), np.int32(ends[_HIGH]))
    ends[_LOW], ends[_HIGH] = low, high
    ends[_ZEROS] += zeros
    exact, spread = np.float64(total), np.float64(squares) - np.float64(total) * total / count
    if spread < _FAR * squares:
        # The squares of elements far from zero say nothing of how they are spread: those of their distances from the
        # block's mean do, while the block is in the first cache; the means of blocks are apart in float64.
        middle = np.float32(total / np.float32(count))
        aside, away = _deviations(x, start, count, middle)
        exact = np.float64(middle) * count + aside
        spread = np.float64(away) - np.float64(aside) * aside / count
    seen = sums[_COUNT]
    apart = exact / count - sums[_TOTAL] / seen if seen else 0.0
    sums[_APART] += spread + apart * apart * seen * count / (seen + count)
    sums[_TOTAL] += exact
    sums[_SQUARES] += squares
    sums[_COUNT] = seen + count


@njit
def _write_plain(out: Any, size: int, ends: Any, sums: Any) -> bool:
    """Write the statistics of what was seen; false if it is odd: not finite, or squared too large or too small for float32."""
    least, greatest = _float(_key(np.int32(ends[_LOW]))), _float(_key(np.int32(ends[_HIGH])))
    largest = max(-least, greatest)
    is_finite = ends[_LOW] > _key(np.int32(~_MAGNITUDE | _INFINITY)) and ends[_HIGH] < _INFINITY
    if not (is_finite and math.isfinite(sums[_SQUARES]) and (largest > SMALL or largest == 0)):
        return False
    _write(out, least, greatest, sums[_TOTAL], sums[_APART], size, math.sqrt(sums[_SQUARES]), ends[_ZEROS])
    return True


_ODD = 9
"""Of what is odd: least, greatest, sum, squares, number and zeros of the finite elements; NaN, infinities."""


@njit
def _begin_odd(seen: Any) -> None:
    for kind in range(2, _ODD):
        seen[kind] = 0
    seen[0], seen[1] = math.inf, -math.inf


@njit
def _see_odd(x: Any, count: int, seen: Any) -> None:
    """Take in a block of float32[n]."""
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
def _write_odd(out: Any, seen: Any) -> None:
    norm = math.nan if seen[6] else math.inf if seen[7] or seen[8] else math.sqrt(seen[3])
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


@njit
def write_statistics(x: Any, out: Any) -> None:
    """Write the statistics of float32[n] into float32[9]."""
    size, bits = x.size, carray(pointer(np.uint64(x.ctypes.data)), (x.size,), np.int32)
    ends, sums = np.empty(3, np.int64), np.empty(_SUMS)
    _begin(ends, sums)
    for start in range(0, size, _BLOCK):
        _see(x, bits, start, min(size - start, _BLOCK), ends, sums)
    if not _write_plain(out, size, ends, sums):
        seen = np.empty(_ODD)
        _begin_odd(seen)
        _see_odd(x, size, seen)
        _write_odd(out, seen)


_FIRST_OPERAND = 2
"""Before it come the code and the size."""

_PART = 1024
"""Elements of an array that a chain makes at a time: some ten results of them stay in the first cache."""


_LOAD, _SPREAD, _FILL = map(OPERATIONS.index, (LOAD, SPREAD, FILL))
_ADD, _SUB, _MUL, _DIV, _MAX, _MIN, _SQRT = map(OPERATIONS.index, ("add", "sub", "mul", "div", "max", "min", "sqrt"))


@njit(error_model="numpy")
def _operate(number: int, x: Any, y: Any, out: Any, count: int) -> None:  # noqa: C901, PLR0912 - a loop for each.
    """An operation on parts of arrays. Each is rounded to float32 by itself."""
    if number == _ADD:
        for i in range(count):
            out[np.uint64(i)] = x[np.uint64(i)] + y[np.uint64(i)]
    elif number == _SUB:
        for i in range(count):
            out[np.uint64(i)] = x[np.uint64(i)] - y[np.uint64(i)]
    elif number == _MUL:
        for i in range(count):
            out[np.uint64(i)] = x[np.uint64(i)] * y[np.uint64(i)]
    elif number == _DIV:
        for i in range(count):
            out[np.uint64(i)] = x[np.uint64(i)] / y[np.uint64(i)]
    elif number == _MAX:
        for i in range(count):
            one, other = x[np.uint64(i)], y[np.uint64(i)]
            out[np.uint64(i)] = one if one > other or math.isnan(one) else other
    elif number == _MIN:
        for i in range(count):
            one, other = x[np.uint64(i)], y[np.uint64(i)]
            out[np.uint64(i)] = one if one < other or math.isnan(one) else other
    elif number == _SQRT:
        for i in range(count):
            out[np.uint64(i)] = math.sqrt(x[np.uint64(i)])


@njit
def _take_in(number: int, x: Any, size: int, b: int, start: int, out: Any, count: int) -> None:
    """A part of an operand, from element `start` of the result on; `b` as in `Chain.code`."""
    if number == _LOAD:
        for i in range(count):
            out[np.uint64(i)] = x[np.uint64(start) + np.uint64(i)]
    elif number == _FILL:
        value = x[b]
        for i in range(count):
            out[np.uint64(i)] = value
    else:  # Each of `x` is repeated, then all of them again.
        at, left = start // b % size, b - start % b
        for i in range(count):
            out[np.uint64(i)] = x[np.uint64(at)]
            left -= 1
            if left == 0:
                at, left = at + 1, b
                if at == size:
                    at = 0


@njit
def _run(code: Any, operands: Any, size: int, registers: Any, is_odd: Any, ends: Any, sums: Any, seen: Any) -> None:
    """Run a chain on arrays of this size, part by part, and take in its watched results: those that are odd as such."""
    bits = carray(pointer(np.uint64(registers.ctypes.data)), registers.shape, np.int32)
    for start in range(0, size, _PART):
        count = min(size - start, _PART)
        for step in range(len(code)):
            number, a, b, place, row = code[step, 0], code[step, 1], code[step, 2], code[step, 3], code[step, 4]
            if number <= _FILL:
                x = array_of(operands, _FIRST_OPERAND + a, np.float32)
                _take_in(number, x, x.size, b, start, registers[place], count)
            else:
                _operate(number, registers[a], registers[b], registers[place], count)
            if row >= 0 and is_odd[row]:
                _see_odd(registers[place], count, seen[row])
            elif row >= 0:
                _see(registers[place], bits[place], 0, count, ends[row], sums[row])


@njit
def _run_chain(code: Any, operands: Any, size: Any, out: Any) -> None:
    """The statistics float32[n, 9] of the watched results of a chain: in a second run of those that were found to be odd."""
    watched, registers = len(out), 0
    ends, sums, seen = np.empty((watched, 3), np.int64), np.empty((watched, _SUMS)), np.empty((watched, _ODD))
    is_odd = np.empty(watched, np.int64)
    for row in range(watched):
        _begin(ends[row], sums[row])
        _begin_odd(seen[row])
        is_odd[row] = 0
    for step in range(len(code)):
        registers = max(registers, code[step, 3] + 1)
    parts, odd = np.empty((registers, _PART), np.float32), 0
    _run(code, operands, size, parts, is_odd, ends, sums, seen)
    for row in range(watched):
        is_odd[row] = not _write_plain(out[row], size, ends[row], sums[row])
        odd += is_odd[row]
    if odd == 0:
        return
    _run(code, operands, size, parts, is_odd, ends, sums, seen)
    for row in range(watched):
        if is_odd[row]:
            _write_odd(out[row], seen[row])


@njit
def _gather(rows: Any, operands: Any, count: Any, table: Any) -> None:
    """Write the rows with these numbers into a table: of all rows of the pieces, which come after the first operand."""
    width, first = table.size // rows.size, 0
    for number in range(1, count):
        piece = array_of(operands, number, np.float32)
        length = max(piece.size // width, 1)
        for row in range(rows.size):
            if first <= rows[row] < first + length:
                for column in range(width):
                    at = (rows[row] - first) * width + column
                    table[row * width + column] = piece[at] if at < piece.size else np.float32(0)
        first += length


@cfunc(types.uint64(types.uint64), cache=True)
def _handle(address: Any) -> Any:
    """What XLA calls: once to ask for the version, then with each array. 0: no error."""
    frame = words(address, FRAME_WORDS)
    if not asks_for_version(frame):
        x, out = array_of(frame[ARGUMENTS], 0, np.float32), array_of(frame[RESULTS], 0, np.float32)
        rows = out.size // _STATISTICS
        size = x.size // rows
        for row in range(rows):
            write_statistics(x[row * size : (row + 1) * size], out[row * _STATISTICS : (row + 1) * _STATISTICS])
    return 0


@cfunc(types.uint64(types.uint64), cache=True)
def _handle_chain(address: Any) -> Any:
    """The same for the custom call that runs a chain: its code, its size, its operands."""
    frame = words(address, FRAME_WORDS)
    if not asks_for_version(frame):
        operands = frame[ARGUMENTS]
        code, results = array_of(operands, 0, np.int32), array_of(frame[RESULTS], 0, np.float32)
        steps = carray(pointer(np.uint64(code.ctypes.data)), (code.size // 5, 5), np.int32)
        out = carray(pointer(np.uint64(results.ctypes.data)), (results.size // _STATISTICS, _STATISTICS), np.float32)
        _run_chain(steps, operands, np.int64(array_of(operands, 1, np.int32)[0]), out)
    return 0


@cfunc(types.uint64(types.uint64), cache=True)
def _handle_table(address: Any) -> Any:
    """The same for the custom call that makes a table: which row is where, and the pieces, each a number, a row or some."""
    frame = words(address, FRAME_WORDS)
    if not asks_for_version(frame):
        operands, count = frame[ARGUMENTS], np.int64(frame[ARGUMENT_COUNT])
        _gather(array_of(operands, 0, np.int32), operands, count, array_of(frame[RESULTS], 0, np.float32))
    return 0


for _target, _function in ((TARGET, _handle), (CHAIN, _handle_chain), (TABLE, _handle_table)):
    register(_target, _function)
