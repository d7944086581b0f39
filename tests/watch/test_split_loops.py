"""Test an inner loop of a differentiated loop of which JAX has moved a part out, so that its inputs change."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

A, U = jnp.array([10.0, 20.0, 30.0]), jnp.array([1.0, 2.0, 3.0])


def test_parts_of_what_an_inner_loop_goes_through(watched, whole):
    def inner(x, item):
        p, q = item
        x = q - 0.01 * p * x
        return x, x

    def loss(u, a):
        u, _ = lax.scan(lambda u, _: (lax.scan(inner, 0.0, (a, u))[1], None), u, length=2)
        return u.sum()

    run = watched(jax.jit(jax.value_and_grad(loss)), U, A, values=True)
    later = lax.scan(inner, 0.0, (A, U))[1]
    np.testing.assert_allclose(whole(run, "p"), A)
    np.testing.assert_allclose(whole(run, "q"), [*U, *later], rtol=1e-6)


def test_fields_of_what_an_inner_loop_goes_through(watched, whole):
    def inner(x, item):
        x = item["q"] - 0.01 * item["p"] * x
        return x, x

    def loss(u, a):
        u, _ = lax.scan(lambda u, _: (lax.scan(inner, 0.0, {"p": a, "q": u})[1], None), u, length=2)
        return u.sum()

    run = watched(jax.jit(jax.value_and_grad(loss)), U, A, values=True)
    later = lax.scan(inner, 0.0, {"p": A, "q": U})[1]
    np.testing.assert_allclose(whole(run, "item['p']"), A)
    np.testing.assert_allclose(whole(run, "item['q']"), [*U, *later], rtol=1e-6)
    assert "item" not in run.values


def test_a_tridiagonal_system_solved_in_each_step(watched):
    """The program is Thomas' algorithm with the same coefficients in all steps."""

    def forward(carry, item):
        a, b, c, d = item
        m = b - a * carry[0]
        cp = c / m
        dp = (d - a * carry[1]) / m
        return (cp, dp), (cp, dp)

    def back(x, item):
        cp, dp = item
        x = dp - cp * x
        return x, x

    def solve(a, b, c, d):
        _, both = lax.scan(forward, (0.0, 0.0), (a, b, c, d))
        return lax.scan(back, 0.0, both, reverse=True)[1]

    def loss(d, a, b, c):
        d, _ = lax.scan(lambda d, _: (solve(a, b, c, d), None), d, length=2)
        return (d**2).sum()

    a, b, c = jnp.full(3, -0.5), jnp.array([2.0, 2.1, 2.2]), jnp.full(3, -0.4)
    run = watched(jax.jit(jax.value_and_grad(loss)), U, a, b, c, values=True)
    steps = [U, solve(a, b, c, U)]
    truth = {"d": np.concatenate(steps)}
    for name in ("cp", "dp"):
        each = [lax.scan(forward, (0.0, 0.0), (a, b, c, d))[1] for d in steps]
        truth[name] = np.concatenate([both[name == "dp"] for both in each])
    inner = [event for event in run.events if event.site.watch.primitive == "argument" and len(event.step) == 2]
    assert {event.site.label for event in inner} >= {"d", "cp", "dp"}
    for event in inner:
        if event.site.label in truth:
            np.testing.assert_allclose(
                event.values[-1], truth[event.site.label][3 * event.step[0] + event.step[1]], rtol=1e-5
            )


def test_a_value_moved_out_of_a_checkpointed_loop_is_not_named_as_the_result_of_its_call(watched, whole):
    def pull(x, m):
        d = x[:, None] - x[None]
        return (m[None] * jnp.tanh(d)).sum(1)

    def step(state, _):
        x, m = state
        a = pull(x, m)
        return (x + 0.1 * a, m), None

    def loss(m, x):
        (x, _), _ = jax.checkpoint(lambda state: lax.scan(step, state, length=2))((x, jnp.exp(m)))
        return (x**2).sum()

    run = watched(jax.jit(jax.value_and_grad(loss)), A / 30, U, values=True)
    first = pull(U, jnp.exp(A / 30))
    told = whole(run, "a")
    assert {one.shape for one in told} == {(3,)}
    np.testing.assert_allclose(told[0], first, rtol=1e-5)
