"""Test that steps continue after dropped events: kept events have the steps of a run that keeps all."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw


def in_a_loop(n):
    def body(i, carry):
        jax.debug.print("loss {loss}", loss=carry)
        return carry + i

    return lax.fori_loop(0, 11, body, n)


def in_loops_in_each_other(n):
    def inner(i, carry):
        jax.debug.print("loss {loss}", loss=carry)
        return carry + i

    return lax.fori_loop(0, 4, lambda _, carry: lax.fori_loop(0, 3, inner, carry), n)


def in_a_while(n):
    def body(carry):
        jax.debug.print("loss {loss}", loss=carry)
        return carry + 1

    return lax.while_loop(lambda carry: carry < n + 9, body, n)


def backwards(n):
    def step(carry, x):
        loss = carry * x
        jax.debug.print("loss {loss}", loss=loss)
        return loss, None

    return lax.scan(step, n, jnp.linspace(1, 2, 9), reverse=True)[0]


def by_lane(n):
    return jax.vmap(in_a_loop)(jnp.arange(3.0) + n)


def outside_loops(n):
    jax.debug.print("loss {loss}", loss=n)
    return n + 1


def in_some_calls(n):
    return lax.cond(n % 3 == 0, in_a_loop, lambda n: n, n)


@pytest.mark.parametrize("budget", [3, 8])
@pytest.mark.parametrize(
    "program",
    [in_a_loop, in_loops_in_each_other, in_a_while, backwards, by_lane, outside_loops, in_some_calls],
    ids=lambda one: one.__name__,
)
def test_steps_of_kept_events_do_not_depend_on_what_was_dropped(program, budget):
    step = jax.jit(program)

    def captured(most=1000):
        with jdw.capture(max_events=most) as run:
            for call in range(9):
                step(float(call))
                jax.effects_barrier()
                run.collect()
        return run.series("loss")

    steps, values = captured()
    kept_steps, kept = captured(budget)
    assert 0 < len(kept) < len(values)
    np.testing.assert_array_equal(kept, values[-len(kept) :])
    np.testing.assert_array_equal(kept_steps, steps[-len(kept) :])


@pytest.mark.parametrize("budget", [3, 20])
def test_gradients_of_a_loop_that_runs_from_its_end(budget):
    step = jax.jit(jax.grad(lambda n: lax.scan(lambda h, x: (jnp.sin(h * x), None), n, jnp.linspace(1, 2, 6))[0]))

    def captured(most=1000):
        with jdw.capture(watch="grad/*", max_events=most) as run:
            for call in range(9):
                step(float(call))
                jax.effects_barrier()
                run.collect()
        (site,) = {one.id: one for one in run.store.sites() if one.watch and one.phase == "backward"}.values()
        return run.store.history.steps(site.id), run.store.history.series(site.id, 0)[2]

    steps, values = captured()
    kept_steps, kept = captured(budget)
    assert 0 < len(kept) < len(values)
    # Kept values have the order of their steps.
    assert set(zip(kept_steps, kept, strict=True)) < set(zip(steps, values, strict=True))
