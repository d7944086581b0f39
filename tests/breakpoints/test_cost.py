"""Test the reported cost of a breakpoint, and its position in a loop."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jax_debug_widgets as jdw


def scaled(x, factors):
    def body(carry, factor):
        carry = carry * factor
        carry = jdw.breakpoint(carry, when=~jnp.isfinite(carry).all(), name="bad", num_frames=0)
        return carry, carry.sum()

    return lax.scan(body, x, factors)


def always(x):
    y = jnp.outer(x, x)
    jax.debug.breakpoint(num_frames=1)
    return y


FACTORS = jnp.array([1.0, 2.0, jnp.inf, 1.0])
TO_HOST = "they are computed before the stop, and copied to the host"
BACK = "the program goes on with the values that come back"
UNORDERED = "other effects may come before or after it"
COSTS = [
    (
        (jax.jit(scaled), jnp.ones(5), FACTORS),
        f"1 value, 20 B: {TO_HOST} where the condition holds; {BACK}; {UNORDERED}",
    ),
    (
        (jax.jit(jax.vmap(scaled, (0, None))), jnp.ones((3, 5)), FACTORS),
        f"1 value, 60 B: {TO_HOST} where the condition holds; {BACK}; {UNORDERED}",
    ),
    ((jax.jit(always), jnp.ones(50)), f"2 values, 10.2 kB: {TO_HOST} each time; {UNORDERED}"),
    (
        (jax.jit(lambda x: (jdw.breakpoint(num_frames=0), x)[1]), jnp.ones(3)),
        f"calls the host each time; {UNORDERED}",
    ),
]


@pytest.mark.behaviour("B5")
@pytest.mark.parametrize(("call", "cost"), COSTS, ids=["conditional", "vmap", "frames", "nothing"])
def test_the_cost_of_a_breakpoint_is_shown(stopped, call, cost):
    _, run = stopped(*call, user=lambda page: page.all_stops())
    [point] = run.status().breakpoints
    assert point.cost == cost


@pytest.mark.behaviour("B5")
def test_a_stop_at_a_captured_print_has_no_further_cost(stopped):
    def f(x):
        jax.debug.print("{x}", x=x)
        return x

    _, run = stopped(jax.jit(f), jnp.float32(jnp.nan), user=lambda page: page.all_stops(), break_on="nonfinite")
    assert [point.cost for point in run.status().breakpoints] == [""]


@pytest.mark.behaviour("B2")
@pytest.mark.parametrize("batched", [False, True], ids=["one", "vmap"])
def test_a_conditional_breakpoint_reports_the_step_of_its_loop(stopped, batched):
    steps = []
    f, x = (jax.vmap(scaled, (0, None)), jnp.ones((3, 5))) if batched else (scaled, jnp.ones(5))
    stopped(jax.jit(f), x, FACTORS, user=lambda page: page.all_stops(lambda _page, stop: steps.append(stop["step"])))
    assert steps == [[2], [3]]
