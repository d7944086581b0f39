"""The statistics of an array in one pass, compiled by Numba, as a custom call of XLA's CPU backend.

XLA takes five passes for them and vectorises none of them well; this takes a tenth to a twentieth of the time, and next
to nothing to compile into a program. Importing this module needs Numba; the machine code is kept on disk. All of it is in
this file, because Numba looks at no other to see whether what it has kept is still right.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import jax
import numpy as np
from numba import carray, cfunc, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from jax_debug_widgets.watch.chain import FILL, LOAD, OPERATIONS, POWER, SPREAD
from jax_debug_widgets.watch.statistics import CHAIN, SMALL, STATISTICS, TABLE

TARGET = "jax_debug_widgets_statistics"
"""The custom call: float32[...] -> float32[9], or float32[n, ...] -> float32[n, 9], in the order of `statistics.STATISTICS`."""

_BLOCK = 2048
"""Elements that stay in the processor's first cache, and few enough for their sum to be exact in float32."""

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
_TOTAL, _SQUARES = 0, 1


@njit
def _begin(ends: Any, sums: Any) -> None:
    """Nothing was seen. `ends` int64[3]: least and greatest key, zeros; `sums` float64[2]: of elements and of their squares."""
    ends[_LOW], ends[_HIGH], ends[_ZEROS] = _MAGNITUDE, ~_MAGNITUDE, 0
    sums[_TOTAL] = sums[_SQUARES] = 0.0


@njit
def _see(x: Any, bits: Any, start: int, count: int, ends: Any, sums: Any) -> None:
    """Take in a block of float32[n]; `bits` are the same as int32[n]."""
    total, squares = _sums(x, start, count)
    low, high, zeros = _ends(bits, start, count, np.int32(ends[_LOW]), np.int32(ends[_HIGH]))
    ends[_LOW], ends[_HIGH] = low, high
    ends[_ZEROS] += zeros
    sums[_TOTAL] += total
    sums[_SQUARES] += squares


@njit
def _write_plain(out: Any, size: int, ends: Any, sums: Any) -> bool:
    """Write the statistics of what was seen; false if it is odd: not finite, or squared too large or too small for float32."""
    extremes = np.array([_key(np.int32(ends[_LOW])), _key(np.int32(ends[_HIGH]))], np.int32).view(np.float32)
    largest = max(-extremes[0], extremes[1])
    is_finite = ends[_LOW] > _key(np.int32(~_MAGNITUDE | _INFINITY)) and ends[_HIGH] < _INFINITY
    if not (is_finite and math.isfinite(sums[_SQUARES]) and (largest > SMALL or largest == 0)):
        return False
    _write(out, extremes[0], extremes[1], sums[_TOTAL], sums[_SQUARES], size, math.sqrt(sums[_SQUARES]), ends[_ZEROS])
    return True


_ODD = 9
"""Of what is odd: least, greatest, sum, squares, number and zeros of the finite elements; NaN, infinities."""


@njit
def _begin_odd(seen: Any) -> None:
    seen[:] = 0
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
    _write(out, seen[0], seen[1], seen[2], seen[3], max(seen[4], 1.0), norm, seen[5])
    out[6], out[7], out[8] = seen[6], seen[7], seen[8]


@njit
def _write(
    out: Any, low: float, high: float, total: float, squares: float, count: float, norm: float, zeros: float
) -> None:
    mean = total / count
    out[0], out[1], out[2] = low, high, mean
    out[3] = math.sqrt(max(squares / count - mean * mean, 0.0))
    out[4], out[5] = norm, zeros
    out[6] = out[7] = out[8] = 0


@njit
def write_statistics(x: Any, out: Any) -> None:
    """Write the statistics of float32[n] into float32[9]."""
    bits = x.view(np.int32)
    ends, sums = np.empty(3, np.int64), np.empty(2)
    _begin(ends, sums)
    for start in range(0, x.size, _BLOCK):
        _see(x, bits, start, min(x.size - start, _BLOCK), ends, sums)
    if not _write_plain(out, x.size, ends, sums):
        seen = np.empty(_ODD)
        _begin_odd(seen)
        _see_odd(x, x.size, seen)
        _write_odd(out, seen)


def _address_as_pointer(_typing: Any, _address: Any) -> Any:
    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.uint64), emit


_pointer: Any = intrinsic(_address_as_pointer)


@njit
def _words(address: Any, count: Any) -> Any:
    """A structure of C in memory, as the 8-byte words that it is made of."""
    return carray(_pointer(address), (count,), np.uint64)


# The structures of XLA's foreign function interface (jaxlib/include/xla/ffi/api/c_api.h), as numbers of words. XLA
# promises to keep what was built for one version of it for a year at least.
_EXTENSION, _API, _FRAME_WORDS = 1, 2, 15
_ARGUMENTS_BYTES, _ARGUMENT_COUNT, _ARGUMENTS, _RESULTS_BYTES, _RESULTS = 5, 7, 9, 10, 14
_KNOWN_BYTES = 40
_BUFFER_DATA, _BUFFER_RANK, _BUFFER_SHAPE, _BUFFER_WORDS = 3, 4, 5, 6
_METADATA, _METADATA_VERSION, _API_VERSION = 3, 3, 4
_NO_VERSION = np.uint64(0xFFFFFFFF)
_FIRST_VERSION = np.uint64(1 << 32)
"""0.1 (the minor number is the upper half). XLA before jax 0.9 knows no other, and asks without saying so."""


@njit
def _answer_version(frame: Any) -> None:
    """Say that this is made for XLA's own version, or for none that there is if its frame is not the one we know."""
    metadata = _words(_words(frame[_EXTENSION], _METADATA + 1)[_METADATA], _METADATA_VERSION + 1)
    own = _words(frame[_API], _API_VERSION + 1)[_API_VERSION] if frame[_API] else _FIRST_VERSION
    is_known = frame[_ARGUMENTS_BYTES] == _KNOWN_BYTES and frame[_RESULTS_BYTES] == _KNOWN_BYTES
    metadata[_METADATA_VERSION] = own if is_known else _NO_VERSION


@njit
def _buffer(buffers: Any, number: Any) -> Any:
    """The words of one of several buffers."""
    return _words(_words(buffers, number + 1)[number], _BUFFER_WORDS)


@njit
def _size(buffer: Any) -> Any:
    """How many elements it has."""
    size: Any = 1
    for length in _words(buffer[_BUFFER_SHAPE], np.int64(buffer[_BUFFER_RANK])):
        size *= np.int64(length)
    return size


@njit
def _floats(buffers: Any, number: Any) -> Any:
    """One of several buffers, as float32[n]."""
    buffer = _buffer(buffers, number)
    return carray(_pointer(buffer[_BUFFER_DATA]), (_size(buffer),), np.float32)


@njit
def _integers(buffers: Any, number: Any) -> Any:
    """One of several buffers, as int32[n]."""
    buffer = _buffer(buffers, number)
    return carray(_pointer(buffer[_BUFFER_DATA]), (_size(buffer),), np.int32)


_FIRST_SOURCE = 3
"""Before it come the code, the numbers, and the size."""

_PART = 1024
"""Elements of an array that a chain makes at a time: some ten results of them stay in the first cache."""


def _of_two(operation: Any) -> Any:
    """Of two numbers -> of parts of two arrays."""
    operate = njit(error_model="numpy")(operation)

    @njit
    def run(x: Any, y: Any, out: Any, count: Any) -> None:
        for i in range(count):
            out[np.uint64(i)] = operate(x[np.uint64(i)], y[np.uint64(i)])

    return run


def _of_one(operation: Any) -> Any:
    """Of a number -> of a part of an array."""
    operate = njit(error_model="numpy")(operation)

    @njit
    def run(x: Any, out: Any, count: Any) -> None:
        for i in range(count):
            out[np.uint64(i)] = operate(x[np.uint64(i)])

    return run


_add, _sub = _of_two(lambda one, other: one + other), _of_two(lambda one, other: one - other)
_mul, _div = _of_two(lambda one, other: one * other), _of_two(lambda one, other: one / other)
_max = _of_two(lambda one, other: one if one > other or math.isnan(one) else other)
_min = _of_two(lambda one, other: one if one < other or math.isnan(one) else other)
_neg = _of_one(lambda one: -one)
_abs = _of_one(lambda one: abs(one))  # noqa: PLW0108 - Numba compiles functions of Python only.
_sqrt = _of_one(lambda one: math.sqrt(one))  # noqa: PLW0108
_rsqrt = _of_one(lambda one: np.float32(1) / math.sqrt(one))

_LOAD, _SPREAD, _FILL, _POWER = map(OPERATIONS.index, (LOAD, SPREAD, FILL, POWER))
_ADD, _SUB, _MUL, _DIV, _MAX, _MIN = map(OPERATIONS.index, ("add", "sub", "mul", "div", "max", "min"))
_NEG, _ABS, _SQRT, _RSQRT = map(OPERATIONS.index, ("neg", "abs", "sqrt", "rsqrt"))


@njit
def _operate_on_two(number: int, x: Any, y: Any, out: Any, count: Any) -> None:
    if number == _ADD:
        _add(x, y, out, count)
    elif number == _SUB:
        _sub(x, y, out, count)
    elif number == _MUL:
        _mul(x, y, out, count)
    elif number == _DIV:
        _div(x, y, out, count)
    elif number == _MAX:
        _max(x, y, out, count)
    elif number == _MIN:
        _min(x, y, out, count)


@njit
def _operate_on_one(number: int, x: Any, out: Any, count: Any) -> None:
    if number == _NEG:
        _neg(x, out, count)
    elif number == _ABS:
        _abs(x, out, count)
    elif number == _SQRT:
        _sqrt(x, out, count)
    elif number == _RSQRT:
        _rsqrt(x, out, count)


@njit
def _power(x: Any, power: int, out: Any, spare: Any, count: Any) -> None:
    """The power of a part of an array, multiplied in JAX's order."""
    spare[:count] = x[:count]
    is_first = True
    while power:
        if power & 1:
            if is_first:
                out[:count] = spare[:count]
            else:
                for i in range(count):
                    out[np.uint64(i)] *= spare[np.uint64(i)]
            is_first = False
        power >>= 1
        for i in range(count):
            spare[np.uint64(i)] *= spare[np.uint64(i)]


@njit
def _spread(x: Any, repeated: int, start: int, out: Any, count: Any) -> None:
    """A part of an array that is broadcast, from its element `start` on: each of `x` is repeated, then all of them again."""
    at, done = start // repeated % x.size, 0
    left = repeated - start % repeated
    while done < count:
        if repeated == 1:
            many = min(x.size - at, count - done)
            out[done : done + many] = x[at : at + many]
            at = 0
        else:
            many = min(left, count - done)
            out[done : done + many] = x[at]
            at, left = (at + 1) % x.size, repeated
        done += many


@njit
def _make(code: Any, row: int, numbers: Any, sources: Any, start: int, count: int, registers: Any) -> None:
    """Run one operation of a chain on a part; the last register is to spare."""
    number, a, b, place = code[row, 0], code[row, 1], code[row, 2], code[row, 3]
    out = registers[place]
    if number == _LOAD:
        out[:count] = _floats(sources, _FIRST_SOURCE + a)[start : start + count]
    elif number == _SPREAD:
        _spread(_floats(sources, _FIRST_SOURCE + a), b, start, out, count)
    elif number == _FILL:
        out[:count] = numbers[b] if a < 0 else _floats(sources, _FIRST_SOURCE + a)[0]
    elif number == _POWER:
        _power(registers[a], b, out, registers[-1], count)
    elif b < 0:
        _operate_on_one(number, registers[a], out, count)
    else:
        _operate_on_two(number, registers[a], registers[b], out, count)


@njit
def _run_chain(code: Any, numbers: Any, sources: Any, size: Any, out: Any) -> None:
    """The statistics float32[n, 9] of the watched results of a chain on arrays of this size."""
    watched = len(out)
    registers = np.empty((code[:, 3].max() + 2, _PART), np.float32)
    bits = registers.view(np.int32)
    ends, sums = np.empty((watched, 3), np.int64), np.empty((watched, 2))
    for row in range(watched):
        _begin(ends[row], sums[row])
    for start in range(0, size, _PART):
        count = min(size - start, _PART)
        for step in range(len(code)):
            _make(code, step, numbers, sources, start, count, registers)
            place, row = code[step, 3], code[step, 4]
            if row >= 0:
                _see(registers[place], bits[place], 0, count, ends[row], sums[row])
    is_odd = np.array([not _write_plain(out[row], size, ends[row], sums[row]) for row in range(watched)])
    if is_odd.any():
        _run_odd(code, numbers, sources, size, registers, is_odd, out)


@njit
def _run_odd(code: Any, numbers: Any, sources: Any, size: Any, registers: Any, is_odd: Any, out: Any) -> None:
    """Run a chain once more for those of its results that are odd."""
    seen = np.empty((len(out), _ODD))
    for row in range(len(out)):
        _begin_odd(seen[row])
    for start in range(0, size, _PART):
        count = min(size - start, _PART)
        for step in range(len(code)):
            _make(code, step, numbers, sources, start, count, registers)
            row = code[step, 4]
            if row >= 0 and is_odd[row]:
                _see_odd(registers[code[step, 3]], count, seen[row])
    for row in range(len(out)):
        if is_odd[row]:
            _write_odd(out[row], seen[row])


@cfunc(types.uint64(types.uint64), cache=True)
def _handle(address: Any) -> Any:
    """What XLA calls: once to ask for the version, then with each array. 0: no error."""
    frame = _words(address, _FRAME_WORDS)
    if frame[_EXTENSION]:
        _answer_version(frame)
    else:
        x, out = _floats(frame[_ARGUMENTS], 0), _floats(frame[_RESULTS], 0)
        rows = out.size // _STATISTICS
        size = x.size // rows
        for row in range(rows):
            write_statistics(x[row * size : (row + 1) * size], out[row * _STATISTICS : (row + 1) * _STATISTICS])
    return 0


@cfunc(types.uint64(types.uint64), cache=True)
def _handle_chain(address: Any) -> Any:
    """The same for the custom call that runs a chain: its code, its numbers, its size, its sources."""
    frame = _words(address, _FRAME_WORDS)
    if frame[_EXTENSION]:
        _answer_version(frame)
        return 0
    arguments, size = frame[_ARGUMENTS], _integers(frame[_ARGUMENTS], 2)[0]
    code, out = _integers(arguments, 0).reshape(-1, 5), _floats(frame[_RESULTS], 0).reshape(-1, _STATISTICS)
    _run_chain(code, _floats(arguments, 1), arguments, size, out)
    return 0


@cfunc(types.uint64(types.uint64), cache=True)
def _handle_table(address: Any) -> Any:
    """The same for the custom call that makes a table: which row is where, and the pieces, each a number, a row or some."""
    frame = _words(address, _FRAME_WORDS)
    if frame[_EXTENSION]:
        _answer_version(frame)
        return 0
    arguments, rows, table = frame[_ARGUMENTS], _integers(frame[_ARGUMENTS], 0), _floats(frame[_RESULTS], 0)
    width, first = table.size // rows.size, 0
    for number in range(1, np.int64(frame[_ARGUMENT_COUNT])):
        piece = _floats(arguments, number)
        count = max(piece.size // width, 1)
        for row in range(rows.size):
            if first <= rows[row] < first + count:
                for column in range(width):
                    at = (rows[row] - first) * width + column
                    table[row * width + column] = piece[at] if at < piece.size else np.float32(0)
        first += count
    return 0


def _register() -> None:
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    jax.local_devices(backend="cpu")  # XLA answers now, rather than when it makes its CPU backend, which would fail.
    for target, handle in ((TARGET, _handle), (CHAIN, _handle_chain), (TABLE, _handle_table)):
        jax.ffi.register_ffi_target(target, capsule(handle.address, None, None), platform="cpu")


_register()
