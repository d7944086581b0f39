"""The statistics of an array in one pass, compiled by Numba, as a custom call of XLA's CPU backend.

XLA takes five passes for them and vectorises none of them well; this takes a tenth to a twentieth of the time, and next
to nothing to compile into a program. Importing this module needs Numba; the machine code is kept on disk.
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

from jax_debug_widgets.watch.statistics import SMALL, STATISTICS, TABLE

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


@njit
def _write_odd(x: Any, out: Any) -> None:
    """The statistics where something is not finite, or its square is too large or too small for float32."""
    low, high, total, squares = math.inf, -math.inf, 0.0, 0.0
    finite = zeros = nan = above = below = 0
    for value in x:
        if math.isnan(value):
            nan += 1
        elif value == math.inf:
            above += 1
        elif value == -math.inf:
            below += 1
        else:
            exact = np.float64(value)
            low, high = min(low, exact), max(high, exact)
            total, squares = total + exact, squares + exact * exact
            finite, zeros = finite + 1, zeros + (value == 0)
    norm = math.nan if nan else math.inf if above or below else math.sqrt(squares)
    _write(out, low, high, total, squares, max(finite, 1), norm, zeros)
    out[6], out[7], out[8] = nan, above, below


@njit
def _write(
    out: Any, low: float, high: float, total: float, squares: float, count: int, norm: float, zeros: int
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
    low, high = _MAGNITUDE, np.int32(~_MAGNITUDE)
    total, squares, zeros = 0.0, 0.0, 0
    for start in range(0, x.size, _BLOCK):
        count = min(x.size - start, _BLOCK)
        sums = _sums(x, start, count)
        low, high, more = _ends(bits, start, count, low, high)
        total, squares, zeros = total + sums[0], squares + sums[1], zeros + more
    ends = np.array([_key(low), _key(high)], np.int32).view(np.float32)
    largest = max(-ends[0], ends[1])
    is_finite = low > _key(np.int32(~_MAGNITUDE | _INFINITY)) and high < _INFINITY and math.isfinite(squares)
    if is_finite and (largest > SMALL or largest == 0):
        _write(out, ends[0], ends[1], total, squares, x.size, math.sqrt(squares), zeros)
    else:
        _write_odd(x, out)


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
    """One of several buffers, as float32[n]."""
    buffer = _words(_words(buffers, number + 1)[number], _BUFFER_WORDS)
    size: Any = 1
    for length in _words(buffer[_BUFFER_SHAPE], np.int64(buffer[_BUFFER_RANK])):
        size *= np.int64(length)
    return carray(_pointer(buffer[_BUFFER_DATA]), (size,), np.float32)


@cfunc(types.uint64(types.uint64), cache=True)
def _handle(address: Any) -> Any:
    """What XLA calls: once to ask for the version, then with each array. 0: no error."""
    frame = _words(address, _FRAME_WORDS)
    if frame[_EXTENSION]:
        _answer_version(frame)
    else:
        x, out = _buffer(frame[_ARGUMENTS], 0), _buffer(frame[_RESULTS], 0)
        rows = out.size // _STATISTICS
        size = x.size // rows
        for row in range(rows):
            write_statistics(x[row * size : (row + 1) * size], out[row * _STATISTICS : (row + 1) * _STATISTICS])
    return 0


@cfunc(types.uint64(types.uint64), cache=True)
def _handle_table(address: Any) -> Any:
    """The same for the custom call that puts arrays into a table."""
    frame = _words(address, _FRAME_WORDS)
    if frame[_EXTENSION]:
        _answer_version(frame)
        return 0
    count, table = np.int64(frame[_ARGUMENT_COUNT]), _buffer(frame[_RESULTS], 0)
    width = table.size // count
    for row in range(count):
        piece = _buffer(frame[_ARGUMENTS], row)
        for column in range(width):
            table[row * width + column] = piece[column] if column < piece.size else np.float32(0)
    return 0


def _register() -> None:
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    jax.local_devices(backend="cpu")  # XLA answers now, rather than when it makes its CPU backend, which would fail.
    for target, handle in ((TARGET, _handle), (TABLE, _handle_table)):
        jax.ffi.register_ffi_target(target, capsule(handle.address, None, None), platform="cpu")


_register()
