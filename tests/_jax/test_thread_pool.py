"""Test that threads share a job: each part is done once, and the last thread frees the job's memory."""

from __future__ import annotations

import importlib
import threading
from typing import Any

import jax
import numpy as np
import pytest

from jax_debug_widgets._jax.compat import thread_pool
from jax_debug_widgets._jax.compat.ffi import register, words
from jax_debug_widgets.watch.statistics.native import TARGET

pytestmark = pytest.mark.cpu("threads of XLA's CPU backend")

PARTS = 500


@pytest.fixture(scope="module")
def jobs() -> Any:
    """Compile the jobs when a test first needs them, and not in each process that collects tests."""
    return importlib.import_module("tests._jax.thread_pool_jobs")


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_each_part_of_a_job_is_done_once(threads, jobs):
    task, begin = jobs.task.ctypes, threading.Barrier(threads)
    for _ in range(20):
        counts = np.zeros(PARTS, np.uint64)
        job = int(
            jobs.counting_job(counts, threads + 1)
        )  # One more user, or the last thread would free the job while the test reads it.

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


def test_a_thread_that_joins_a_finished_job_does_nothing(jobs):
    counts = np.zeros(3, np.uint64)
    job = jobs.counting_job(counts, 3)
    for _ in range(2):
        jobs.task.ctypes(int(job))
    assert counts.tolist() == [1, 1, 1]
    thread_pool._leave(job)


def test_two_xla_threads_work_on_one_job_at_once(jobs):
    """Each of two parts waits for the other, so that two threads must work at once."""
    register("jax_debug_widgets_tests_meet", jobs.handle)
    told = jax.ffi.ffi_call("jax_debug_widgets_tests_meet", jax.ShapeDtypeStruct((2,), np.uint32))()
    assert np.asarray(told).tolist() == [2, 2], "how many came, and how many of them met the other"


def test_programs_that_run_at_once_do_not_disturb_each_other():
    """Each program has its own job, and all use the same few threads."""
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
