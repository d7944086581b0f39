"""The custom call of XLA's CUDA backend with which a program writes a record into a ring; see `device_rings` and `ring.cu`.

The handler runs on the host each time the program comes to the call. It reserves a place, writes when and on which thread this
was, and launches the kernel that copies the arrays. It does not wait for the GPU, unless the ring is full or Python must be
called. Importing this module needs Numba, NVRTC and a GPU.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from numba import cfunc, njit, types

from jax_debug_widgets._jax.compat.cuda import (
    CudaError,
    function_address,
    kernels,
    launch_and_wait,
    pinned_memory,
)
from jax_debug_widgets._jax.compat.cuda_launch import launch_kernel
from jax_debug_widgets._jax.compat.ffi import (
    ARGUMENT_COUNT,
    ARGUMENTS,
    FRAME_WITH_ATTRIBUTE,
    asks_for_version,
    atomic_exchange,
    attribute_of,
    call_address,
    data_of,
    error_of,
    register,
    stream_of,
    words,
)
from jax_debug_widgets._jax.compat.python_calls import FUNCTIONS, call_python

__all__ = ["FUNCTIONS", "pinned_memory"]

TARGET = "jax_debug_widgets_device_ring"
"""The custom call. Its attribute is the address of a ring's head; it takes the arrays of a record and returns nothing."""

MOST_ARRAYS = 64
"""Arrays of a record: `MOST` in the source."""

# The head of a ring, in words of 8 bytes.
LOCK = 0
GATE = 1
"""The address of a word that is not 0 while Python must be called for all rings."""
ASKS = 2
"""Whether Python must be called for this ring."""
WRITTEN, TAKEN = 3, 4
"""How many records the program has begun to write, and how many were taken out. The difference is what is in the ring."""
CAPACITY, STRIDE = 5, 6
"""How many records fit, and the bytes of a record."""
DATA, DEVICE_DATA = 7, 8
"""The address of the records for the host, and for the GPU."""
KERNEL, LAUNCH, SYNCHRONIZE = 9, 10, 11
"""The handle of the kernel, and the addresses of `cuLaunchKernel` and `cuStreamSynchronize`."""
PYTHON, CALL = 12, 13
"""The address of `python_calls.FUNCTIONS`, and a function of Python. It takes the number of the record to hand over, or 0 if
the ring is full; it returns True, or False if the program must end."""
MESSAGE = 14
"""The address of the text of the error if the program must end."""
LOST, LAUNCH_ERROR = 15, 16
"""How many records were not written, and CUDA's last error if it could not launch a kernel."""
WANTED = 17
"""Whether the first operand is no array but a boolean: whether to write the record."""
DROPS = 18
"""Whether a record that finds no place is not written."""
SIZES = 19
"""From here on: the bytes of each array."""

# The stamp at the beginning of a record, in words of 8 bytes. The arrays follow, each from a multiple of 8 bytes on.
DEVICE_NS, NUMBER = 0, 1
"""What the kernel writes: the GPU's time in ns, and, last of all, the number of the record, from 1 on."""
SECONDS, NANOSECONDS, THREAD, HANDOVER = 2, 3, 4, 5
"""What the handler writes: when the kernel was launched, on which thread, and how the record is handed over."""
STAMP_WORDS = 6

BY_RING, BY_CALL, DONE = 0, 1, 2
"""How a record is handed over: it waits in the ring, a call of Python will take it, or nobody has to take it any more."""

_JOB = np.dtype(
    [
        ("at", np.uint64),
        ("number", np.uint64),
        ("wanted", np.uint64),
        ("data", np.uint64, MOST_ARRAYS),
        ("bytes", np.int32, MOST_ARRAYS),
        ("arrays", np.int32),
    ],
    align=True,
)
"""`Record` of the source."""

_AT, _NUMBER, _WANTED, _DATA = (_JOB.fields[name][1] // 8 for name in ("at", "number", "wanted", "data"))  # pyright: ignore[reportOptionalSubscript]
_BYTES, _ARRAYS = (_JOB.fields[name][1] // 4 for name in ("bytes", "arrays"))  # pyright: ignore[reportOptionalSubscript]
_JOB_WORDS = _JOB.itemsize // 8

_read_clock: Any = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.uint64))
_this_thread: Any = types.ExternalFunction("pthread_self", types.uint64())

(KERNEL_HANDLE,) = kernels(Path(__file__).with_name("ring.cu").read_bytes(), ("ring_write",))
LAUNCH_ADDRESS, SYNCHRONIZE_ADDRESS = function_address("cuLaunchKernel"), function_address("cuStreamSynchronize")


@njit
def _synchronize(head: Any, stream: Any) -> bool:
    """Wait until the GPU has done all that was launched on a stream; whether that worked."""
    return (call_address(head[SYNCHRONIZE], stream) & np.uint64(0xFFFFFFFF)) == 0


@njit
def _reserve(ring: Any) -> Any:
    """Reserve a place; return the number of its record, from 1 on, or 0 if the ring is full."""
    head = words(ring, SIZES)
    while atomic_exchange(ring + np.uint64(8 * LOCK), 1):  # Held for a few instructions.
        pass
    number = np.uint64(0)
    if head[WRITTEN] - head[TAKEN] < head[CAPACITY]:
        head[WRITTEN] += np.uint64(1)
        number = head[WRITTEN]
    atomic_exchange(ring + np.uint64(8 * LOCK), 0)
    return number


@njit
def _write(head: Any, operands: Any, count: Any, number: Any, handover: Any, stream: Any) -> None:
    """Launch the kernel that writes a record."""
    start = ((number - np.uint64(1)) % head[CAPACITY]) * head[STRIDE]
    stamp = words(head[DATA] + start, STAMP_WORDS)
    _read_clock(time.CLOCK_MONOTONIC, head[DATA] + start + np.uint64(8 * SECONDS))
    stamp[THREAD], stamp[HANDOVER] = _this_thread(), handover
    job = np.zeros(_JOB_WORDS + 1, np.uint64)
    numbers = job.view(np.int32)
    job[_AT], job[_NUMBER] = head[DEVICE_DATA] + start, number
    first = np.int64(head[WANTED])
    if first:
        job[_WANTED] = data_of(operands, 0)
    for array in range(count):
        job[_DATA + array] = data_of(operands, first + array)
        numbers[_BYTES + array] = np.int32(head[SIZES + array])
    numbers[_ARRAYS] = count
    # The address is in the job, which is used afterwards: Numba frees an array as soon as only its address is used.
    job[_JOB_WORDS] = np.uint64(job.ctypes.data)
    arguments = job[_JOB_WORDS] + np.uint64(8 * _JOB_WORDS)
    error = launch_kernel(head[LAUNCH], head[KERNEL], np.uint64(1), stream, arguments)
    if error:
        head[LOST] += np.uint64(1)
        head[LAUNCH_ERROR] = np.uint64(error)
        stamp[HANDOVER] = np.uint64(DONE)
        stamp[NUMBER] = job[_NUMBER]


@cfunc(types.uint64(types.uint64), cache=True)
def _handle(address: Any) -> Any:
    """The handler that XLA calls: once for the version, then with the arrays. Returns 0, or the address of an error."""
    frame = words(address, FRAME_WITH_ATTRIBUTE)
    if asks_for_version(frame):
        return np.uint64(0)
    operands, count, stream = frame[ARGUMENTS], np.int64(frame[ARGUMENT_COUNT]), stream_of(frame)
    ring = attribute_of(frame)
    count -= np.int64(words(ring, SIZES)[WANTED])
    head = words(ring, SIZES + count)
    number = _reserve(ring)
    while not number:
        if not _synchronize(head, stream):
            return np.uint64(0)  # The program fails anyway.
        if not call_python(head[PYTHON], head[CALL], np.uint64(0)):
            return error_of(frame, head[MESSAGE])
        number = _reserve(ring)
        if not number and head[DROPS]:
            head[LOST] += np.uint64(1)
            return np.uint64(0)
    handover = BY_CALL if words(head[GATE], 1)[0] or head[ASKS] else BY_RING
    _write(head, operands, count, number, np.uint64(handover), stream)
    if handover == BY_CALL and _synchronize(head, stream) and not call_python(head[PYTHON], head[CALL], number):
        return error_of(frame, head[MESSAGE])
    return np.uint64(0)


_MEASURED: Any = pinned_memory(8 * STAMP_WORDS)
_measuring = threading.Lock()


def measured_offsets() -> tuple[int, int]:
    """Return two numbers in ns that the host's time (`perf_counter_ns`) minus the GPU's is between.

    Raises:
      CudaError: the kernel cannot run, or does not write what it should.
    """
    memory, address = _MEASURED
    stamp, job, least, most = memory.view(np.int64), np.zeros(1, _JOB), [], []
    with _measuring:
        for number in range(int(stamp[NUMBER]) + 1, int(stamp[NUMBER]) + 4):
            job["at"], job["number"] = address, number
            before = time.perf_counter_ns()
            launch_and_wait(KERNEL_HANDLE, job)
            after, device = time.perf_counter_ns(), int(stamp[DEVICE_NS])
            if stamp[NUMBER] != number:
                msg = "a record that a kernel wrote into pinned memory did not arrive"
                raise CudaError(msg)
            least.append(before - device)
            most.append(after - device)
    return max(least), min(most)


measured_offsets()  # The kernel runs: it is loaded now, and not while XLA records a CUDA graph.
register(TARGET, _handle, platform="CUDA")
