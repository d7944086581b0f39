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

from jax_debug_widgets._jax.compat.cuda import function_address, kernels
from jax_debug_widgets._jax.compat.cuda_launch import launch_kernel
from jax_debug_widgets._jax.compat.ffi import (
    ARGUMENT_COUNT,
    ARGUMENTS,
    FRAME_WORDS,
    RESULTS,
    asks_for_version,
    buffer_of,
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
_handles = (ctypes.c_uint64 * 3)(
    *kernels(_SOURCE.read_bytes(), ("statistics_read", "statistics_write", "statistics_read_odd"))
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
    arguments, handles = address + np.uint64(8 * _JOB_WORDS), words(_kernels(), 3)
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


@cfunc(types.uint64(types.uint64), cache=True)
def _handle(address: Any) -> Any:
    """Called by XLA: once to ask for the version, then with all arrays. Returns 0: no error."""
    frame = words(address, FRAME_WORDS)
    if asks_for_version(frame):
        may_be_recorded(frame)
    else:
        _run(frame, 1)
    return 0


@cfunc(types.uint64(types.uint64), cache=True)
def _handle_wanted(address: Any) -> Any:
    """As `_handle`, for `GPU_WANTED`."""
    frame = words(address, FRAME_WORDS)
    if asks_for_version(frame):
        may_be_recorded(frame)
    else:
        _run(frame, 2)
    return 0


register(GPU, _handle, platform="CUDA")
register(GPU_WANTED, _handle_wanted, platform="CUDA")
