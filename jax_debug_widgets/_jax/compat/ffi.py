"""Use XLA's foreign function interface from functions that Numba compiles: the frame of a call, and its buffers.

Importing this module needs Numba. Numba keeps compiled functions on disk, and compiles anew only if the file that defines them
has changed. So after a change of this file, touch `rings_native.py` and `watch/statistics/native.py`, too.
"""

from __future__ import annotations

import ctypes
from typing import Any

import jax
import numpy as np
from llvmlite import ir
from numba import carray, njit, types
from numba.core import cgutils
from numba.extending import intrinsic


def _address_as_pointer(_typing: Any, _address: Any) -> Any:
    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.uint64), emit


pointer: Any = intrinsic(_address_as_pointer)
"""An address as a pointer."""


def _atomic(operation: str) -> Any:
    def typed(_typing: Any, _address: Any, _value: Any) -> Any:
        def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            address, value = arguments
            word = builder.inttoptr(address, ir.IntType(64).as_pointer())
            return builder.atomic_rmw(operation, word, value, "seq_cst")

        return types.int64(types.uint64, types.int64), emit

    return intrinsic(typed)


atomic_add: Any = _atomic("add")
"""Add to the int64 at an address, in one atomic step; return what it was before."""

atomic_exchange: Any = _atomic("xchg")
"""Replace the int64 at an address, in one atomic step; return what it was before."""


def _emit_call(_context: Any, builder: Any, _signature: Any, operands: Any) -> Any:
    function, *arguments = operands
    word = ir.IntType(64)
    kind = ir.FunctionType(word, [word] * len(arguments))
    return builder.call(builder.inttoptr(function, kind.as_pointer()), arguments)


def _call_address(_typing: Any, _function: Any, _argument: Any) -> Any:
    return types.uint64(types.uint64, types.uint64), _emit_call


def _call_with_two(_typing: Any, _function: Any, _first: Any, _second: Any) -> Any:
    return types.uint64(types.uint64, types.uint64, types.uint64), _emit_call


call_address: Any = intrinsic(_call_address)
"""Call the function of C at an address with an address."""

call_with_two: Any = intrinsic(_call_with_two)
"""Call the function of C at an address with two addresses."""


@njit
def words(address: Any, count: Any) -> Any:
    """The C structure at an address, as uint64[count]."""
    return carray(pointer(address), (count,), np.uint64)


# The structures (jaxlib/include/xla/ffi/api/c_api.h), as numbers of words. XLA promises to keep what was built for one
# version of it for a year at least.
FRAME_WORDS, FRAME_WITH_ATTRIBUTE = 15, 21
API, CONTEXT, ARGUMENT_COUNT, ARGUMENTS, RESULTS = 2, 3, 7, 9, 14
_EXTENSION, _ARGUMENTS_BYTES, _RESULTS_BYTES = 1, 5, 10
_KNOWN_BYTES = 40
_BUFFER_DATA, _BUFFER_RANK, _BUFFER_SHAPE, _BUFFER_WORDS = 3, 4, 5, 6
_METADATA, _METADATA_VERSION, _TRAITS, _API_VERSION = 3, 3, 4, 4
_ATTRIBUTES = 20
_ERROR_CREATE, _STREAM_GET = 6, 10
"""The positions of these functions in XLA's `XLA_FFI_Api`."""
_INTERNAL_ERROR = 13
_NO_VERSION = np.uint64(0xFFFFFFFF)
_FIRST_VERSION = np.uint64(1 << 32)
"""0.1 (the minor number is the upper half). XLA before jax 0.9 knows no other, and asks without saying so."""


@njit
def asks_for_version(frame: Any) -> bool:
    """Whether XLA asks only for our version; if so, write XLA's own into the frame, or none if the frame is unknown to us."""
    if not frame[_EXTENSION]:
        return False
    metadata = words(words(frame[_EXTENSION], _METADATA + 1)[_METADATA], _METADATA_VERSION + 1)
    own = words(frame[API], _API_VERSION + 1)[_API_VERSION] if frame[API] else _FIRST_VERSION
    is_known = frame[_ARGUMENTS_BYTES] == _KNOWN_BYTES and frame[_RESULTS_BYTES] == _KNOWN_BYTES
    metadata[_METADATA_VERSION] = own if is_known else _NO_VERSION
    return True


@njit
def buffer_of(buffers: Any, number: Any) -> Any:
    """The words of one of several buffers."""
    return words(words(buffers, number + 1)[number], _BUFFER_WORDS)


@njit
def data_of(buffers: Any, number: Any) -> Any:
    """The address of the elements of one of several buffers."""
    return buffer_of(buffers, number)[_BUFFER_DATA]


@njit
def shape_of(buffer: Any) -> Any:
    """The length of each axis of a buffer."""
    return words(buffer[_BUFFER_SHAPE], np.int64(buffer[_BUFFER_RANK]))


@njit
def size_of(buffer: Any) -> Any:
    """How many elements a buffer has."""
    size: Any = 1
    for length in shape_of(buffer):
        size *= np.int64(length)
    return size


@njit
def array_of(buffers: Any, number: Any, dtype: Any) -> Any:
    """One of several buffers, as an array of one axis."""
    buffer = buffer_of(buffers, number)
    return carray(pointer(buffer[_BUFFER_DATA]), (size_of(buffer),), dtype)


@njit
def may_be_recorded(frame: Any) -> None:
    """Write into the frame that asked for our version: XLA may record the call in a CUDA graph."""
    words(words(frame[_EXTENSION], _METADATA + 1)[_METADATA], _TRAITS + 1)[_TRAITS] = np.uint64(1)


@njit
def stream_of(frame: Any) -> Any:
    """The address of the CUDA stream of a call."""
    arguments = np.zeros(4, np.uint64)
    arguments[0], arguments[2] = np.uint64(32), frame[CONTEXT]
    call_address(words(frame[API], _STREAM_GET + 1)[_STREAM_GET], np.uint64(arguments.ctypes.data))
    return arguments[3]


@njit
def attribute_of(frame: Any) -> Any:
    """The only attribute of a call, a number of 64 bits. `frame` has `FRAME_WITH_ATTRIBUTE` words."""
    scalar = words(words(frame[_ATTRIBUTES], 1)[0], 2)
    return words(scalar[1], 1)[0]


@njit
def error_of(frame: Any, message: Any) -> Any:
    """The address of an error that a handler returns. `message` is the address of its text, which ends with a zero."""
    arguments = np.zeros(4, np.uint64)
    arguments[0], arguments[2], arguments[3] = np.uint64(28), message, np.uint64(_INTERNAL_ERROR)
    error = call_address(words(frame[API], _ERROR_CREATE + 1)[_ERROR_CREATE], np.uint64(arguments.ctypes.data))
    arguments[0] = np.uint64(0)  # Numba frees an array as soon as only its address is used.
    return error


def register(target: str, handle: Any, platform: str = "cpu") -> None:
    """Let XLA's backend for a platform call a `cfunc` of the address of a frame, which returns 0, as this custom call."""
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    jax.local_devices(
        backend=platform.lower()
    )  # XLA answers now, rather than when it makes its backend, which would fail.
    jax.ffi.register_ffi_target(target, capsule(handle.address, None, None), platform=platform)
