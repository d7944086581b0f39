"""Test names in branches that `vmap` transforms, and in functions that JAX calls several times."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jax_debug_widgets._jax.compat import versions

XS = jnp.linspace(-2.0, 2.0, 5)


def branching(x, w):
    a = x * w

    def positive(a):
        p = jnp.sin(a)
        return p

    def negative(a):
        q = a**2
        return q

    r = lax.cond(a > 0, positive, negative, a)
    out = r * 3
    return out


A = XS * 1.5
R = jnp.where(A > 0, jnp.sin(A), A**2)


def test_the_result_of_a_cond_under_vmap_is_one_value(watched, agrees):
    run = watched(jax.jit(jax.vmap(branching, (0, None))), XS, 1.5, lanes=True)
    assert set(run.values) == {"x", "w", "a", "p", "q", "r", "out"}
    agrees(run["r"], R)
    np.testing.assert_allclose(run["r"].lanes["value"][0], R, rtol=1e-6)
    run = watched(jax.jit(jax.vmap(branching, (0, None))), XS, 1.5, when="r > 3")
    agrees(run["r"], R)


def test_gradients_around_a_cond_under_vmap(watched, agrees):
    def total(w):
        return jax.vmap(branching, (0, None))(XS, w).sum()

    run = watched(jax.jit(jax.value_and_grad(total)), 1.5)
    agrees(run["grad/r"], np.full(5, 3.0))
    agrees(run["grad/a"], jnp.where(A > 0, jnp.cos(A), 2 * A) * 3)
    agrees(run["grad/p"], jnp.where(A > 0, 3.0, 0.0))
    agrees(run["grad/q"], jnp.where(A > 0, 0.0, 3.0))


def test_residuals_of_branches_under_vmap_have_no_name(watched, agrees):
    run = watched(jax.jit(jax.vmap(jax.value_and_grad(branching, 1), (0, None))), XS, 1.5)
    assert {"a", "p", "q", "r", "out"} <= set(run.values)
    agrees(run["q"], A**2)
    agrees(run["r"], R)
    agrees(run["grad/a"], jnp.where(A > 0, jnp.cos(A), 2 * A) * 3)


def test_each_call_of_a_function_that_jax_calls_several_times_is_a_value(watched, agrees):
    def product(left, right):
        s = left * right
        return s

    def total(x):
        c = lax.associative_scan(product, x)
        return c.sum()

    run = watched(jax.jit(jax.value_and_grad(total)), jnp.arange(1.0, 6.0))
    agrees(run["grad/c"], np.ones(5))
    place = f"s@test_branches.py:{product.__code__.co_firstlineno + 1}"
    # Products of neighbours, of these products, and of the elements between: c = [1, 2, 2·3, 2·12, 24·5].
    values = [[1 * 2, 3 * 4], [2 * 12], [2 * 3, 24 * 5]]
    gradients = [[1 + 3 + 12 * (1 + 5), 2 * (1 + 5)], [1 + 5], [1, 1]]
    for number, (value, gradient) in enumerate(zip(values, gradients, strict=True), 1):
        agrees(run[f"{place}#{number}"], np.array(value, np.float32))
        agrees(run[f"{place}#{number}"].gradient, np.array(gradient, np.float32))


def test_a_branch_under_vmap_in_a_python_loop_has_one_gradient_an_execution(watched, agrees):
    x = jnp.arange(6.0).reshape(3, 2) - 2

    def loss(w, zero):
        def per(x, zero):
            for number in range(2):
                if number == 0:
                    x = jnp.tanh(x * w)
                else:
                    x = x + lax.cond(x.sum() > 0, lambda z: jnp.sin(z * w), lambda z: z * 2, x) + zero
            return (x**2).sum()

        return jax.vmap(per)(x, zero).sum()

    run = watched(lambda w: jax.jit(jax.grad(loss))(w, jnp.zeros_like(x)), jnp.float32(0.7))
    wanted = jax.grad(loss, argnums=1)(jnp.float32(0.7), jnp.zeros_like(x))
    line = max(value.site.line for value in run.values.values() if value.site.label == "x")
    gradients = [value for name, value in run.values.items() if name.startswith("grad/x") and value.site.line == line]
    assert len(gradients) == 1
    agrees(gradients[0], wanted)


@pytest.mark.skipif(versions.TRACEBACKS_LEAVE_THEIR_PROGRAM, reason="not on jax 0.8 (docs/limits.md)")
@pytest.mark.parametrize("which", ["cond", "switch"])
def test_a_branch_that_vmap_puts_in_twice_is_two_executions(which, watched, whole):
    def bent(x):
        up = jnp.sin(x)
        return up

    def squared(x):
        down = x**2
        return down

    def choose(x):
        if which == "cond":
            return lax.cond(x.sum() > 0, bent, squared, x)
        return lax.switch((x.sum() <= 0).astype(int), [bent, squared], x)

    def f(x):
        once = choose(x)
        twice = choose(once)
        return (once * twice).sum()

    rows = jnp.cos(jnp.arange(9.0)).reshape(3, 3)
    run = watched(jax.jit(jax.vmap(f)), rows, watch="up,down", values=True)
    first = jax.vmap(choose)(rows)
    for name, wanted in (("up", [jnp.sin(rows), jnp.sin(first)]), ("down", [rows**2, first**2])):
        for told, value in zip(whole(run, name), wanted, strict=True):
            np.testing.assert_allclose(told, value, rtol=1e-5)


@pytest.mark.parametrize("branches", [[jnp.sin, jnp.cos, jnp.tanh], [jnp.sin, lambda z: z * 2, jnp.tanh]])
def test_branches_that_are_functions_of_jaxs_in_a_python_loop_under_vmap(branches, watched):
    def f(index, x):
        z = x * 2
        for number in range(2):
            z = lax.switch(index + number, branches, z)
        return z

    indices, rows = jnp.array([0, 1]), jnp.cos(jnp.arange(6.0)).reshape(2, 3)
    run = watched(jax.jit(jax.vmap(f)), indices, rows, watch="z", values=True)
    told = [event.values[-1] for event in run.events if event.site.watch.name == "z"]
    wanted = [rows * 2]
    for number in range(2):
        rounds = zip(indices + number, wanted[-1], strict=True)
        wanted.append(jnp.stack([branches[int(index)](row) for index, row in rounds]))
    assert len(told) == len(wanted)
    for one, value in zip(told, wanted, strict=True):
        np.testing.assert_allclose(one, value, rtol=1e-5)
