"""Test the memory budget of ended runs: the oldest arrays are dropped first, and are counted and reported."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.session.memory import keep_within
from tests.magics.shells import shell

ARRAY = 1 << 20
"""Bytes of each array."""


@jax.jit
def tells(x):
    jax.debug.print("array {}", x)


@jax.jit
def tells_a_number(x):
    jax.debug.print("number {}", x[0])


def array_of(number):
    return jnp.full(ARRAY // 4, number, jnp.float32)


def run_of(number, max_ended_mb=512):
    """Return a run that prints a number, arrays, and three numbers."""
    with jdw.capture(max_ended_mb=max_ended_mb) as run:
        for tell in (tells_a_number, tells, tells, *[tells_a_number] * 3):
            tell(array_of(number))
    return run


def kept(run):
    return [event.site.format.split()[0] for event in run.events]


def test_the_oldest_arrays_of_the_oldest_runs_go_first_and_the_newest_run_stays_whole():
    runs = [run_of(number) for number in range(3)]
    whole = kept(runs[0])
    keep_within(runs, int(4.5 * ARRAY))
    assert [run.store.nbytes // ARRAY for run in runs] == [0, 2, 2]
    assert kept(runs[0]) == ["number"] * 3
    assert (runs[0].dropped, sum(runs[0].status().dropped_by_site.values())) == (3, 3)
    assert kept(runs[1]) == kept(runs[2]) == whole
    keep_within(runs, 1)
    assert [len(run.events) for run in runs] == [0, 0, len(whole)]
    np.testing.assert_array_equal(runs[2].series("x")[1], np.full((2, ARRAY // 4), 2.0))


def test_a_run_says_that_it_has_let_go_of_events_since_its_end():
    runs = [run_of(0), run_of(1)]
    keep_within(runs, 3 * ARRAY)
    lost, newest = (" ".join(run.notes) for run in runs)
    assert "All ended runs together keep at most --max-ended-mb" in lost
    assert "--max-events" not in lost
    assert "--max-ended-mb" not in newest
    assert f"{runs[0].dropped} older ones dropped" in repr(runs[0].events)


def test_results_of_host_functions_are_let_go_of_too():
    @jax.jit
    def f(x):
        return jax.pure_callback(np.asarray, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    runs = []
    for number in range(2):
        with jdw.capture() as run:
            f(array_of(number)).block_until_ready()
        runs.append(run)
    assert runs[0].callbacks.nbytes == ARRAY
    keep_within(runs, 1)
    assert (runs[0].nbytes, runs[0].callbacks.dropped) == (0, 1)
    assert runs[0].callbacks[0].returned == 1
    assert runs[1].callbacks.nbytes == ARRAY


@pytest.mark.parametrize("most", [3, 5])
def test_a_capture_that_ends_keeps_all_within_its_budget(most):
    runs = [run_of(number, most) for number in range(4)]
    assert sum(run.store.nbytes for run in runs) <= most * ARRAY
    assert len(kept(runs[-1])) == 6
    assert kept(runs[0]) == ["number"] * 3


def test_the_status_reports_what_ended_runs_hold():
    with shell() as ours:
        ours.run("import jax, jax.numpy as jnp\nf = jax.jit(lambda x: jax.debug.print('{}', x))")
        for _ in range(2):
            ours.run("%%jaxdebug --no-echo --max-ended-mb 1\nf(jnp.ones(200_000))")
        told = ours.run("%jaxdebug status").stdout
    assert " of 1 MB at most (--max-ended-mb)" in told
    assert " dropped " in told
