"""The statistics of all arrays that a body has read, by kernels of ours on XLA's stream, as a custom call of its CUDA backend.

XLA takes six passes for each array. Here one launch reads all arrays, see `statistics.cu`. The host only launches, so XLA may
record the call in a CUDA graph. Importing this module needs Numba, NVRTC and a GPU.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import binding
from numba import cfunc, njit, types

from jax_debug_widgets._jax.compat.cuda import CudaError, function_address, kernels, launch_and_wait, pinned_memory
from jax_debug_widgets._jax.compat.cuda_launch import launch_kernel
from jax_debug_widgets._jax.compat.ffi import (
    ARGUMENT_COUNT,
    ARGUMENTS,
    FRAME_WORDS,
    RESULTS,
    asks_for_version,
    buffer_of,
    error_of,
    may_be_recorded,
    register,
    size_of,
    stream_of,
    words,
)
from jax_debug_widgets._jax.compat.thread_pool import address_of
from jax_debug_widgets.watch.statistics.layout import GPU, GPU_WANTED, MOST_BLOCKS, NUMBERS_OF_PART, PER_BLOCK

_SOURCE = Path(__file__).with_name("statistics.cu")

_MOST = 128
"""Arrays of a job: `MOST` in the source."""

_JOB = np.dtype(
    [
        ("data", np.uint64, _MOST),
        ("size", np.int64, _MOST),
        ("type", np.int32, _MOST),
        ("first", np.int32, _MOST + 1),
        ("arrays", np.int32),
        ("base", np.int32),
        ("rows", np.int32),
        ("width", np.int32),
        ("order", np.uint64),
        ("table", np.uint64),
        ("parts", np.uint64),
        ("marks", np.uint64),
        ("wanted", np.uint64),
    ],
    align=True,
)
"""`Job` of the source."""

_BYTES: Any = _JOB.fields
_DATA, _SIZE, _ORDER, _TABLE, _PARTS, _MARKS, _WANTED = (
    _BYTES[name][1] // 8 for name in ("data", "size", "order", "table", "parts", "marks", "wanted")
)
"""Where these fields begin, in words of 8 bytes."""

_TYPE, _FIRST, _ARRAYS, _BASE, _ROWS, _WIDTH = (
    _BYTES[name][1] // 4 for name in ("type", "first", "arrays", "base", "rows", "width")
)
"""Where these fields begin, in numbers of 4 bytes."""

_JOB_WORDS = _JOB.itemsize // 8

_ELEMENT_TYPE = 2
"""The word of XLA's buffer with the number of the element type, in its lower half."""

_KERNELS = "jax_debug_widgets_cuda_kernels"
_LAUNCH = "jax_debug_widgets_cuda_launch"
_FAILED = ctypes.create_string_buffer(
    b"CUDA could not launch the kernels that read the watched values, so these are not known"
)
"""The error of a program whose kernels were not launched."""

_MESSAGE = 3
"""The number of the address of `_FAILED` in the words behind `_KERNELS`. The handles of the kernels are before it."""

_handles = (ctypes.c_uint64 * (_MESSAGE + 1))(
    *kernels(_SOURCE.read_bytes(), ("statistics_read", "statistics_write", "statistics_read_odd")),
    ctypes.addressof(_FAILED),
)
binding.add_symbol(_KERNELS, ctypes.addressof(_handles))
binding.add_symbol(_LAUNCH, function_address("cuLaunchKernel"))
_kernels, _launch = address_of(_KERNELS), address_of(_LAUNCH)


@njit
def _launch_job(job: Any, first: int, arrays: Any, stream: Any) -> int:
    """Launch the three kernels; return CUDA's error, 0 if there is none."""
    # In the job, which the caller holds: Numba frees an array of ours as soon as only its address is used.
    address = np.uint64(job.ctypes.data)
    job[_JOB_WORDS] = address
    arguments, handles = address + np.uint64(8 * _JOB_WORDS), words(_kernels(), _MESSAGE)
    blocks, each = np.uint64(first), np.uint64(arrays)
    error = 0
    if first:
        error |= launch_kernel(_launch(), handles[0], blocks, stream, arguments)
    error |= launch_kernel(_launch(), handles[1], each, stream, arguments)
    if first:
        error |= launch_kernel(_launch(), handles[2], blocks, stream, arguments)
    return error


@njit
def _run(frame: Any, skipped: int) -> int:
    """Read the arrays in jobs of at most `_MOST`.

    They come after the order of the rows and, if `skipped` is 2, a boolean: whether to read them.
    """
    operands, results, stream = frame[ARGUMENTS], frame[RESULTS], stream_of(frame)
    order, table, scratch = buffer_of(operands, 0), buffer_of(results, 0), buffer_of(results, 1)
    rows, arrays = size_of(order), np.int64(frame[ARGUMENT_COUNT]) - skipped
    width = size_of(table) // rows
    marks = scratch[3] + np.uint64(4 * (size_of(scratch) - 2 * arrays))
    before, error = 0, 0
    for base in range(0, arrays, _MOST):
        job = np.zeros(_JOB_WORDS + 1, np.uint64)
        numbers = job.view(np.int32)
        count, first = min(arrays - base, _MOST), 0
        for at in range(count):
            array = buffer_of(operands, skipped + base + at)
            size = size_of(array)
            job[_DATA + at], job[_SIZE + at] = array[3], np.uint64(size)
            numbers[_TYPE + at] = np.int32(array[_ELEMENT_TYPE] & np.uint64(0xFFFFFFFF))
            numbers[_FIRST + at] = first
            first += min((size + PER_BLOCK - 1) // PER_BLOCK, MOST_BLOCKS) if size > 1 else 0
        numbers[_FIRST + count] = first
        numbers[_ARRAYS], numbers[_BASE], numbers[_ROWS], numbers[_WIDTH] = count, base, rows, width
        job[_ORDER], job[_TABLE] = order[3], table[3]
        job[_PARTS] = scratch[3] + np.uint64(4 * NUMBERS_OF_PART * before)
        job[_MARKS] = marks + np.uint64(8 * base)
        if skipped > 1:
            job[_WANTED] = buffer_of(operands, 1)[3]
        error |= _launch_job(job, first, count, stream)
        before += first
    return error


@njit
def _answer(address: Any, skipped: int) -> Any:
    frame = words(address, FRAME_WORDS)
    if asks_for_version(frame):
        may_be_recorded(frame)
    elif _run(frame, skipped):
        return error_of(frame, words(_kernels(), _MESSAGE + 1)[_MESSAGE])
    return np.uint64(0)


@cfunc(types.uint64(types.uint64), cache=True)
def _handle(address: Any) -> Any:
    """Called by XLA: once to ask for the version, then with all arrays. Returns 0, or the address of an error."""
    return _answer(address, 1)


@cfunc(types.uint64(types.uint64), cache=True)
def _handle_wanted(address: Any) -> Any:
    """As `_handle`, for `GPU_WANTED`."""
    return _answer(address, 2)


def check_kernels() -> None:
    """Read two small arrays on the GPU. This loads the kernels, too, and not only while XLA records a CUDA graph.

    Raises:
      CudaError: a kernel cannot run, or gives something else than it should.
    """
    plain, odd = np.arange(-3, 13, dtype=np.float32), np.array([1, np.nan, 3, np.inf], np.float32)
    expected = [
        [-3, 12, plain.mean(), plain.std(), np.sqrt((plain**2).sum()), 1, 0, 0, 0],
        [1, 3, 2, 1, np.nan, 0, 1, 1, 0],
    ]
    memory, address = pinned_memory(4096)
    order, table, read, parts, marks = 0, 64, 256, 512, 1024  # Places in the memory.
    memory[order : order + 8].view(np.int32)[:] = 1, 0
    job = np.zeros(1, _JOB)
    for at, array in enumerate((plain, odd)):
        place = read + 64 * at
        memory[place : place + array.nbytes] = array.view(np.uint8)
        job["data"][0, at], job["size"][0, at], job["type"][0, at] = address + place, array.size, 11
        job["first"][0, at + 1] = at + 1
    job["arrays"], job["rows"], job["width"] = 2, 2, 9
    for name, place in (("order", order), ("table", table), ("parts", parts), ("marks", marks)):
        job[name] = address + place
    for number in range(_MESSAGE):
        launch_and_wait(_handles[number], job, blocks=2)
    found = memory[table : table + 72].view(np.float32).reshape(2, 9)[::-1]
    if not np.allclose(found, expected, rtol=1e-5, equal_nan=True):
        msg = f"the kernels that read watched values give {found.tolist()} and not {expected}"
        raise CudaError(msg)


check_kernels()
register(GPU, _handle, platform="CUDA")
register(GPU_WANTED, _handle_wanted, platform="CUDA")
