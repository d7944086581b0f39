"""Define jobs in machine code for tests of the thread pool; importing this compiles them, which takes some seconds."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import binding
from numba import cfunc, njit, types

from jax_debug_widgets._jax.compat import thread_pool
from jax_debug_widgets._jax.compat.ffi import FRAME_WORDS, RESULTS, array_of, asks_for_version, atomic_add, words

_COUNTS, _WORDS = range(thread_pool.WORK, thread_pool.WORK + 2)
"""The words of a job that counts how often each part is done: the address of uint64[parts]."""


@njit
def _count(job: Any, part: int) -> None:
    words(words(job, _WORDS)[_COUNTS], part + 1)[part] += np.uint64(1)


_take_parts = thread_pool.doing(_count)


@cfunc(types.uint64(types.uint64))
def task(job: Any) -> Any:
    _take_parts(job)
    return 0


@njit
def counting_job(counts: Any, users: int) -> Any:
    """Make a counting job that `users` threads will read."""
    job = thread_pool.new_job(len(counts), _WORDS)
    told = words(job, _WORDS)
    told[thread_pool._USERS], told[_COUNTS] = users, np.uint64(counts.ctypes.data)
    return job


MOST_YIELDS = 10_000_000
"""How often a thread yields until it gives up waiting for another one: some seconds."""

_MET = 1 << 32
"""A thread adds 1 to the word when it arrives, and this when it has met another thread."""


@njit
def _meet(job: Any, _part: int) -> None:
    """Arrive, and wait until another thread has arrived."""
    place = words(job, _WORDS)[_COUNTS]
    atomic_add(place, 1)
    for _ in range(MOST_YIELDS):
        if atomic_add(place, 0) % _MET == 2:
            atomic_add(place, _MET)
            break
        thread_pool._yield()


_come = thread_pool.doing(_meet)
_meeting = thread_pool.address_of("jax_debug_widgets_tests_meet")


@cfunc(types.uint64(types.uint64))
def _meet_task(job: Any) -> Any:
    _come(job)
    return 0


binding.add_symbol("jax_debug_widgets_tests_meet", _meet_task.address)


@cfunc(types.uint64(types.uint64))
def handle(address: Any) -> Any:
    frame = words(address, FRAME_WORDS)
    if not asks_for_version(frame):
        place = array_of(frame[RESULTS], 0, np.uint64)
        place[0] = np.uint64(0)
        job = thread_pool.new_job(2, _WORDS)
        words(job, _WORDS)[_COUNTS] = np.uint64(place.ctypes.data)
        thread_pool.do_together(frame, _meeting(), job)
    return 0
