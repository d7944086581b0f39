"""A function of JAX's that is jitted itself and calls the user's is watched; the operations of JAX's own are not."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax.experimental.ode import odeint

from jax_debug_widgets._jax import versions

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
    assert len(run["force"].steps) > 2
    assert abs(run["force"]["value"] + jnp.sin(1.0)).min() < 0.3
    agrees(run["force[0]"], -jnp.sin(1.0))


def test_operations_of_jaxs_own_are_not(watched):
    def f(x):
        h = jnp.linalg.norm(jnp.where(x > 0, x, 0.0))
        return jax.nn.softmax(x) * h

    assert list(watched(f, jnp.arange(3.0)).values) == []
