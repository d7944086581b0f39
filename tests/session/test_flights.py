"""Test that the running time of a call is a measured one, or missing."""

from __future__ import annotations

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.session.run.call_sequences import CallSequences
from jax_debug_widgets.session.run.record import CallRecord

MS = 1_000_000


def run_of(*calls: tuple[int, int, str], functions: str = "") -> list[tuple[float, int] | None]:
    """Return the running time of each call.

    Args:
      calls: when each call was dispatched and was over, in milliseconds, and how its end was seen.
      functions: a letter for the function of each call.

    Returns:
      For each call its time in milliseconds and the number of calls of which it is the mean; None if it is not known.
    """
    flights, records = CallSequences(), []
    for number, (dispatched, over, seen) in enumerate(calls):
        record = CallRecord("f", functions[number : number + 1], "library", dispatched * MS, "main", 1)
        record.seen = seen
        record.ready_ns = over * MS
        record.flight = flights.over(record, over * MS)
        records.append(record)
    frozen = [record.frozen() for record in records]
    return [None if one.run is None else (round(one.run * 1e3, 3), one.run_of) for one in frozen]


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        ([(0, 5, "at once"), (6, 11, "at once")], [(5, 1), (5, 1)]),
        # The first was dispatched before the others were over, whose ends were noted together.
        ([(0, 14, "at once"), (1, 15, "at once"), (2, 15, "late")], [(5, 3)] * 3),
        # A loop waits for each step: the dispatch by C++, or the end, is noticed late.
        ([(1, 5, "late"), (6, 11, "late"), (11, 16, "late"), (15, 21, "late")], [(5, 4)] * 4),
        ([(1, 5, "late"), (6, 11, "late"), (11, 16, "late")], [None] * 3),
        ([(1, 5, "late"), (30, 31, "late")], [None] * 2),
        ([(5, 5, "over"), (10, 10, "over"), (15, 15, "over")], [None] * 3),
    ],
    ids=["apart", "together", "without a pause", "too few", "pauses", "over when seen"],
)
def test_a_call_has_its_own_time_or_the_mean_of_those_it_was_in_flight_with(calls, told):
    assert run_of(*calls) == told


def test_the_time_of_a_call_beside_another_program_is_not_known():
    told = run_of((0, 5, "at once"), (1, 9, "at once"), (2, 14, "at once"), (20, 26, "at once"), functions="ffgf")
    assert told == [(4.5, 2), (4.5, 2), None, (6, 1)]


SLEEP = 0.02


def step(x):
    def wait(x):
        time.sleep(SLEEP)
        return x

    x = jax.pure_callback(wait, jax.ShapeDtypeStruct((), np.float32), x)
    jax.debug.print("{x}", x=x)
    return x + 1


@pytest.mark.behaviour("P9")
@pytest.mark.parametrize("waits", [True, False], ids=["waits for each", "runs ahead"])
@pytest.mark.parametrize("watch", [None, True], ids=["printed", "watched"])
def test_steps_of_a_python_loop_took_no_less_than_they_do_and_together_no_longer_than_the_loop(waits, watch):
    f, x = jax.jit(step), jnp.float32(0)
    with jdw.capture(watch=watch) as run:
        jax.block_until_ready(f(x))
        began = time.perf_counter()
        for _ in range(8):
            x = f(x)
            if waits:
                jax.block_until_ready(x)
        jax.block_until_ready(x)
        jax.effects_barrier()
    took = time.perf_counter() - began
    told = [call.run for call in list(run.calls)[1:] if call.run is not None]
    assert told
    assert min(told) >= SLEEP and sum(told) <= took
    assert ("a call" in repr(run.calls)) == any(call.run_of > 1 for call in run.calls)
