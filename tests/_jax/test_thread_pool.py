"""Work that several threads share is done once, by whoever comes, and its memory is given back by the last."""

from __future__ import annotations

import threading
from typing import Any

import jax
import numpy as np
import pytest
from llvmlite import binding
from numba import cfunc, njit, types

from jax_debug_widgets._jax.compat import thread_pool
from jax_debug_widgets._jax.compat.ffi import (
    FRAME_WORDS,
    RESULTS,
    array_of,
    asks_for_version,
    atomic_add,
    register,
    words,
)
from jax_debug_widgets.watch.statistics.native import TARGET

pytestmark = pytest.mark.cpu("threads of XLA's CPU backend")

PARTS = 500

_COUNTS, _WORDS = range(thread_pool.WORK, thread_pool.WORK + 2)
"""A job that counts how often each of its parts is done: the address of uint64[parts]."""


@njit
def _count(job: Any, part: int) -> None:
    words(words(job, _WORDS)[_COUNTS], part + 1)[part] += np.uint64(1)


_take_parts = thread_pool.doing(_count)


@cfunc(types.uint64(types.uint64))
def _task(job: Any) -> Any:
    _take_parts(job)
    return 0


@njit
def _job(counts: Any, users: int) -> Any:
    """That job, which so many threads will look at."""
    job = thread_pool.new_job(len(counts), _WORDS)
    told = words(job, _WORDS)
    told[thread_pool._USERS], told[_COUNTS] = users, np.uint64(counts.ctypes.data)
    return job


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_each_part_is_done_once(threads):
    task, begin = _task.ctypes, threading.Barrier(threads)
    for _ in range(20):
        counts = np.zeros(PARTS, np.uint64)
        job = int(
            _job(counts, threads + 1)
        )  # One more: or the last thread would give it back while it is looked at here.

        def work(job=job):
            begin.wait()
            task(job)

        crowd = [threading.Thread(target=work) for _ in range(threads)]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join()
        assert (counts == 1).all()
        head = np.array(
            [words(np.uint64(job), thread_pool.WORK)[place] for place in (thread_pool._DONE, thread_pool._USERS)]
        )
        assert head.tolist() == [PARTS, 1]
        thread_pool._leave(np.uint64(job))


def test_who_comes_when_all_is_done_has_nothing_to_do():
    counts = np.zeros(3, np.uint64)
    job = _job(counts, 3)
    for _ in range(2):
        _task.ctypes(int(job))
    assert counts.tolist() == [1, 1, 1]
    thread_pool._leave(job)


MOST_YIELDS = 10_000_000
"""Some seconds, for who comes to nothing but an empty place."""

_MET = 1 << 32
"""What is added to a word by who has met another; ones are added by who comes."""


@njit
def _meet(job: Any, _part: int) -> None:
    """Come, and stay until somebody else has come as well."""
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
def _handle(address: Any) -> Any:
    frame = words(address, FRAME_WORDS)
    if not asks_for_version(frame):
        place = array_of(frame[RESULTS], 0, np.uint64)
        place[0] = np.uint64(0)
        job = thread_pool.new_job(2, _WORDS)
        words(job, _WORDS)[_COUNTS] = np.uint64(place.ctypes.data)
        thread_pool.do_together(frame, _meeting(), job)
    return 0


def test_threads_of_xla_do_help():
    """Each of two parts waits for the other, so two threads are at work at once."""
    register("jax_debug_widgets_tests_meet", _handle)
    told = jax.ffi.ffi_call("jax_debug_widgets_tests_meet", jax.ShapeDtypeStruct((2,), np.uint32))()
    assert np.asarray(told).tolist() == [2, 2], "how many came, and how many of them met the other"


def test_programs_that_run_at_once_do_not_disturb_each_other():
    """Each has its own job, and all ask the same few threads."""
    table = jax.jit(lambda x: jax.ffi.ffi_call(TARGET, jax.ShapeDtypeStruct((len(x), 9), np.float32))(x))
    arrays = [np.random.default_rng(seed).normal(seed, size=(3, 1_000_000)).astype(np.float32) for seed in range(6)]
    alone = [np.asarray(table(array)) for array in arrays]
    assert [told[:, 2].round().tolist() for told in alone] == [[seed] * 3 for seed in range(6)], "the means"
    found: dict[int, list[np.ndarray]] = {}

    def run(number):
        found[number] = [np.asarray(table(arrays[number])) for _ in range(10)]

    crowd = [threading.Thread(target=run, args=[number]) for number in range(6)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    for number, told in enumerate(alone):
        assert all((again == told).all() for again in found[number]), "to the last bit, whoever summed them up"
