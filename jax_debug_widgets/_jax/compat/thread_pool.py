"""Share the work of a custom call of ours with the threads of XLA's CPU backend, by functions that Numba compiles.

XLA runs a custom call on one thread, while its own operations use all. A task given to its thread pool may run late, or after
all the work is done, so no thread waits for a task that has not begun. Importing this module needs Numba; see `ffi` for the
files kept on disk.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from jax_debug_widgets._jax.compat.ffi import API, CONTEXT, atomic_add, call_address, words

_NEXT, _DONE, _PARTS, _USERS, WORK = range(5)
"""A job, in words of 8 bytes: the next part that nobody has taken, how many are done, how many there are, how many threads
may still look at it; from `WORK` on what only those look at who have taken a part."""

_DESTROY_ERROR, _SCHEDULE, _NUM_THREADS = 8, 17, 18
"""The positions of XLA's functions in its `XLA_FFI_Api`."""

_allocate: Any = types.ExternalFunction("malloc", types.uint64(types.uint64))
_free: Any = types.ExternalFunction("free", types.void(types.uint64))
_yield: Any = types.ExternalFunction("sched_yield", types.int32())


@njit
def _ask(frame: Any, function: int, first: Any, second: Any) -> bool:
    """Call a function of XLA's that takes the context of a call and some words; whether it could do what it was asked."""
    arguments = np.empty(5, np.uint64)
    arguments[0], arguments[1], arguments[2], arguments[3], arguments[4] = 40, 0, frame[CONTEXT], first, second
    api = words(frame[API], _NUM_THREADS + 1)
    error = call_address(api[function], np.uint64(arguments.ctypes.data))
    if error:
        arguments[0], arguments[2] = 24, error
        call_address(api[_DESTROY_ERROR], np.uint64(arguments.ctypes.data))
    return not error


@njit
def _threads_of(frame: Any) -> int:
    """How many threads XLA has; 0 if it does not say."""
    count = np.empty(1, np.int64)
    return count[0] if _ask(frame, _NUM_THREADS, np.uint64(count.ctypes.data), np.uint64(0)) else 0


@njit
def _leave(job: Any) -> None:
    """Note that this thread has left a job; the last thread frees its memory."""
    if atomic_add(job + np.uint64(8 * _USERS), -1) == 1:
        _free(job)


@njit
def new_job(parts: int, size: int) -> Any:
    """Allocate memory for a job of that many parts, `size` words long; then call `do_together`."""
    job = _allocate(np.uint64(8 * size))
    head = words(job, WORK)
    head[_NEXT], head[_DONE], head[_PARTS], head[_USERS] = 0, 0, parts, 1
    return job


@njit
def do_together(frame: Any, task: Any, job: Any) -> None:
    """Do all parts of a job, with the help of XLA's threads that are free; return when all are done.

    Args:
      frame: the call frame of XLA's custom call, see `ffi`.
      task: the address of a `cfunc` that is `doing` one part after the other, see `address_of`.
      job: see `new_job`.
    """
    parts, users = np.int64(words(job, WORK)[_PARTS]), job + np.uint64(8 * _USERS)
    helpers = min(_threads_of(frame), parts) - 1 if parts > 1 else 0
    for _ in range(helpers):
        atomic_add(users, 1)
        if not _ask(frame, _SCHEDULE, task, job):
            atomic_add(users, -1)
    atomic_add(users, 1)  # This thread is at work twice, and waits for the others in between.
    call_address(task, job)
    while atomic_add(job + np.uint64(8 * _DONE), 0) < parts:
        _yield()  # Somebody is at work on the last of them.
    _leave(job)


def doing(do: Any) -> Any:
    """Compile the function that works on a kind of job: it takes parts of the job until there are no more.

    Args:
      do: does one part; called with the job and the part's number.
    """

    @njit
    def take_parts(job: Any) -> None:
        parts = np.int64(words(job, WORK)[_PARTS])
        part = atomic_add(job + np.uint64(8 * _NEXT), 1)
        while part < parts:
            do(job, part)
            atomic_add(job + np.uint64(8 * _DONE), 1)
            part = atomic_add(job + np.uint64(8 * _NEXT), 1)
        _leave(job)

    return take_parts


def address_of(name: str) -> Any:
    """A function without arguments: the address of what LLVM knows by this name; machine code on disk keeps the name."""

    def address(_typing: Any) -> Any:
        def emit(_context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
            kind = ir.FunctionType(ir.IntType(64), [ir.IntType(64)])
            try:
                symbol = builder.module.get_global(name)
            except KeyError:
                symbol = ir.Function(builder.module, kind, name)
            return builder.ptrtoint(symbol, ir.IntType(64))

        return types.uint64(), emit

    return intrinsic(address)
