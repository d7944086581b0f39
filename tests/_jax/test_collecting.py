"""Test that Python's garbage collector is restored after our code has disabled a part of it."""

import gc
import threading
from contextlib import ExitStack

import pytest

from jax_debug_widgets._jax.compat.collecting import without_full_collecting


@pytest.fixture(autouse=True)
def threshold():
    before = gc.get_threshold()
    yield before
    gc.set_threshold(*before)


def test_full_collections_come_back_after_the_last_user_whoever_ends_first(threshold):
    first, second = ExitStack(), ExitStack()
    first.enter_context(without_full_collecting())
    second.enter_context(without_full_collecting())
    first.close()
    assert gc.get_threshold()[2] > 10**6 and gc.get_threshold()[:2] == threshold[:2]
    second.close()
    assert gc.get_threshold() == threshold


def test_threads_that_trace_at_once_leave_the_threshold_as_it_was(threshold):
    def work():
        for _ in range(200):
            with without_full_collecting():
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert gc.get_threshold() == threshold


def test_a_threshold_that_the_user_sets_inside_the_context_stays(threshold):
    with without_full_collecting():
        gc.set_threshold(threshold[0], threshold[1], 7)
    assert gc.get_threshold()[2] == 7
