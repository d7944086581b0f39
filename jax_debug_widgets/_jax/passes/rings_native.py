"""The custom call of XLA's CPU backend, compiled by Numba, with which a program writes a record into a ring; see `rings`.

Importing this module needs Numba. Python's clock must be the one that is read here.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import carray, cfunc, njit, types

from jax_debug_widgets._jax.compat.ffi import (
    ARGUMENT_COUNT,
    ARGUMENTS,
    FRAME_WORDS,
    RESULTS,
    array_of,
    asks_for_version,
    atomic_exchange,
    data_of,
    pointer,
    register,
    words,
)

TARGET = "jax_debug_widgets_ring"
"""The custom call. It takes the address of a ring's head, uint32[2], and arrays; returns whether to call Python, bool[]."""

LOCK, GATE, ASKS, COUNT, CAPACITY, STRIDE, DATA, SIZES = range(8)
"""The head of a ring, in words of 8 bytes: the lock; the address of a word that is not 0 while Python must be called for all
rings; whether it must be called for this one; the number of records; how many fit; the bytes of a record; the address of the
records; and the bytes of each array."""

SECONDS, NANOSECONDS, THREAD, STAMP_WORDS = range(4)
"""The stamp at the beginning of a record, in words of 8 bytes; the bytes of each array follow."""

_read_clock: Any = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.uint64))
_this_thread: Any = types.ExternalFunction("pthread_self", types.uint64())


@njit
def _lock(ring: Any) -> None:
    """Spin until the ring is locked. The lock is held only while some bytes are copied, never while its holder waits."""
    while atomic_exchange(ring + np.uint64(8 * LOCK), 1):
        pass


@njit
def _unlock(ring: Any) -> None:
    atomic_exchange(ring + np.uint64(8 * LOCK), 0)


@njit
def _write(head: Any, operands: Any, count: Any) -> None:
    """Append a record."""
    at = head[DATA] + head[COUNT] * head[STRIDE]
    _read_clock(time.CLOCK_MONOTONIC, at)  # Into the first two words.
    words(at, STAMP_WORDS)[THREAD] = _this_thread()
    at += np.uint64(8 * STAMP_WORDS)
    for number in range(1, count):
        size: Any = np.int64(head[SIZES + number - 1])
        array = carray(pointer(data_of(operands, number)), (size,), np.uint8)
        written = carray(pointer(at), (size,), np.uint8)
        for byte in range(size):
            written[np.uint64(byte)] = array[np.uint64(byte)]
        at += np.uint64(size)
    head[COUNT] += np.uint64(1)


@cfunc(types.uint64(types.uint64), cache=True)
def _handle(address: Any) -> Any:
    """The handler that XLA calls: once for the version, then with the arrays. Returns 0: no error."""
    frame = words(address, FRAME_WORDS)
    if not asks_for_version(frame):
        operands, count = frame[ARGUMENTS], np.int64(frame[ARGUMENT_COUNT])
        ring = array_of(operands, 0, np.uint64)[0]
        head = words(ring, SIZES + count)
        _lock(ring)
        asks = words(head[GATE], 1)[0] or head[ASKS] or head[COUNT] == head[CAPACITY]
        if not asks:
            _write(head, operands, count)
        _unlock(ring)
        array_of(frame[RESULTS], 0, np.uint8)[0] = np.uint8(asks)
    return 0


@cfunc(types.uint64(types.uint64, types.uint64, types.uint64), cache=True)
def _swap(ring: Any, data: Any, capacity: Any) -> Any:
    """Give a ring other memory, and no records; how many it had."""
    head = words(ring, SIZES)
    _lock(ring)
    count = head[COUNT]
    head[COUNT], head[DATA], head[CAPACITY] = np.uint64(0), data, capacity
    _unlock(ring)
    return count


swap = _swap.ctypes
"""Called with the address of a ring's head, that of its new memory, and how many records fit there."""

register(TARGET, _handle)
