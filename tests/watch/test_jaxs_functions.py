"""Test functions of JAX that are jitted and call the user's function: it is watched, JAX's own operations are not."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.experimental.ode import odeint

from jax_debug_widgets._jax.compat import versions

pytestmark = pytest.mark.skipif(
    versions.TRACEBACKS_LEAVE_THEIR_PROGRAM, reason="JAX 0.8 has its caller's lines on all equations"
)


def pendulum(state, _):
    force = -jnp.sin(state[0])
    return jnp.stack([state[1], force])


@pytest.mark.behaviour("W1")
def test_the_users_function_in_a_jitted_odeint(watched, agrees):
    solve = jax.jit(odeint, static_argnums=0)
    start, times = jnp.array([1.0, 0.0]), jnp.linspace(0.0, 1.0, 3)
    plain = solve(pendulum, start, times)
    run = watched(solve, pendulum, start, times, watch="force")
    assert (run.result == plain).all()
    first, *_, looped = sorted(run.values.values(), key=lambda value: len(value.steps))
    agrees(first, -jnp.sin(1.0))
    assert len(looped.steps) > 2
    assert abs(looped["value"] + jnp.sin(1.0)).min() < 0.3


def test_operations_inside_jaxs_own_functions_are_not_watched(watched):
    def f(x):
        h = jnp.linalg.norm(jnp.where(x > 0, x, 0.0))
        return jax.nn.softmax(x) * h

    assert list(watched(f, jnp.arange(3.0)).values) == []


def test_values_in_a_rule_of_jax_are_no_gradients_of_the_users_values(watched, agrees):
    segments, x = jnp.array([0, 0, 1, 1]), jnp.array([0.5, 1.5, -1.0, 2.0])

    def loss(x):
        z = jax.ops.segment_max(x, segments, 2)
        return (z**2).sum()

    def step(x):
        v, g = jax.value_and_grad(loss)(x)
        return v, x - g

    run = watched(jax.jit(step), x)
    gradient = jnp.array([0.0, 3.0, 0.0, 4.0])
    agrees(run["v"], 6.25)
    agrees(run["g"], gradient)
    agrees(run["grad/x"], gradient)
    agrees(run["grad/z"], jnp.array([3.0, 4.0]))
    assert "grad/g" not in run.values


def test_a_gradient_through_a_root_and_its_value_are_distinguished(watched, agrees):
    def solve(f, x):
        return lax.fori_loop(0, 8, lambda _, x: x - f(x) / jax.grad(f)(x), x)

    def loss(a):
        s = lax.custom_root(lambda x: x**2 - a, 1.0, solve, lambda g, y: y / g(1.0))
        return s * 3.0

    def step(a):
        v, g = jax.value_and_grad(loss)(a)
        return v, g

    run = watched(jax.jit(step), jnp.array(2.0))
    agrees(run["s"], 2**0.5)
    agrees(run["v"], 3 * 2**0.5)
    agrees(run["g"], 1.5 / 2**0.5)
    assert "grad/g" not in run.values
