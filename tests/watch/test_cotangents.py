"""Test the gradient of each name, which is found by the tangent that belongs to its value."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jax_debug_widgets._jax.compat import versions

X = jnp.linspace(-1.0, 2.0, 6).reshape(2, 3)


@jax.custom_vjp
def polar(x, y):
    return jnp.sqrt(x * x + y * y), x * y


def polar_forward(x, y):
    return polar(x, y), (x, y)


def polar_backward(kept, cotangents):
    x, y = kept
    of_r, of_p = cotangents
    r = jnp.sqrt(x * x + y * y)
    return of_r * x / r + of_p * y, of_r * y / r + of_p * x


polar.defvjp(polar_forward, polar_backward)


def gradients_of(rest, *values):
    """Return the gradients of `rest` for each of these."""
    return jax.grad(lambda values: rest(*values))(values)


AROUND = {
    "jit": lambda f: jax.jit(jax.value_and_grad(f)),
    "jitted loss": lambda f: jax.jit(jax.value_and_grad(jax.jit(f))),
    "un-jitted": lambda f: jax.value_and_grad(jax.jit(f)),
    "vmap": lambda f: jax.jit(lambda x: jax.tree.map(lambda one: one[0], jax.vmap(jax.value_and_grad(f))(x[None]))),
    "scan": lambda f: jax.jit(jax.value_and_grad(lambda x: lax.scan(lambda c, x: (c + f(x), None), 0.0, x[None])[0])),
}


@pytest.mark.behaviour("W4")
@pytest.mark.parametrize("around", AROUND)
def test_results_of_a_custom_vjp_function_have_their_gradients(around, watched, agrees):
    def rest(r, p):
        return (jnp.sin(r) * 2 + p * p).sum()

    def loss(x):
        r, p = polar(x, x + 3)
        return rest(r, p)

    run = watched(AROUND[around](loss), X)
    of_r, of_p = gradients_of(rest, *polar(X, X + 3))
    agrees(run["grad/r"], of_r)
    agrees(run["grad/p"], of_p)


@pytest.mark.behaviour("W4")
@pytest.mark.parametrize("around", AROUND)
def test_each_execution_has_its_gradient_if_one_returns_early(around, watched, agrees):
    def layer(x, number):
        h = jnp.tanh(x * 1.5)
        if number == 1:
            return h
        return jnp.sin(h) * 2

    def after(h, number):
        x = h if number == 1 else jnp.sin(h) * 2
        for later in range(number + 1, 3):
            x = layer(x, later)
        return (x**2).sum()

    def loss(x):
        for number in range(3):
            x = layer(x, number)
        return (x**2).sum()

    run = watched(AROUND[around](loss), X, watch="h")
    values = [value for name, value in run.values.items() if name.startswith("h@")]
    x = X
    for number in range(3):
        h = jnp.tanh(x * 1.5)
        agrees(values[number], h)
        agrees(values[number].gradient, jax.grad(after)(h, number))
        x = layer(x, number)


@pytest.mark.behaviour("W4")
@pytest.mark.parametrize("around", AROUND)
def test_results_of_one_type_of_a_library_call_have_their_gradients(around, watched, agrees):
    def rest(u, v):
        return (u * jnp.cos(v) + v**3).sum()

    def loss(x):
        u, v = jnp.meshgrid(x[0], x[1])
        return rest(u, v)

    run = watched(AROUND[around](loss), X)
    of_u, of_v = gradients_of(rest, *jnp.meshgrid(X[0], X[1]))
    agrees(run["grad/u"], of_u)
    agrees(run["grad/v"], of_v)


@pytest.mark.behaviour("W4")
def test_results_of_jax_functions_with_custom_rules_have_their_gradients(watched, agrees):
    def loss(a, b):
        p = jnp.linalg.pinv(a)
        c, _ = jax.scipy.sparse.linalg.cg(lambda v: a @ v, b)
        z = jax.scipy.special.xlogy(b, b + 1)
        return (p**2).sum() + (c**3).sum() + (z**2).sum()

    a, b = jnp.array([[3.0, 1.0], [1.0, 2.0]]), jnp.array([1.0, 3.0])
    run = watched(jax.jit(jax.value_and_grad(loss, (0, 1))), a, b)
    agrees(run["grad/p"], 2 * jnp.linalg.inv(a))
    agrees(run["grad/c"], 3 * jnp.linalg.solve(a, b) ** 2)
    agrees(run["grad/z"], 2 * b * jnp.log(b + 1))


@pytest.mark.parametrize("around", AROUND)
def test_a_name_has_the_gradient_of_what_comes_after_it(around, watched, agrees):
    """`u` inside and `m` outside are one value, and `s` is computed from it in between."""

    def both(x):
        u = x * 0.7 + 1
        return u, jnp.sin(u)

    def rest(m, s):
        return (m * s + jnp.tanh(m)).sum()

    def loss(x):
        m, s = both(x)
        return rest(m, s)

    run = watched(AROUND[around](loss), X)
    of_m, of_s = gradients_of(rest, *both(X))
    agrees(run["grad/m"], of_m)
    agrees(run["grad/s"], of_s)
    u, _ = both(X)
    agrees(run["grad/u"], of_m + of_s * jnp.cos(u))


@pytest.mark.parametrize("around", AROUND)
def test_values_of_several_statements_in_one_line_have_their_gradients(around, watched, agrees):
    def loss(x):
        a = jnp.sin(x); b = a * a; c = jnp.tanh(b) + a  # fmt: skip  # noqa: E702
        return (c**2).sum()

    run = watched(AROUND[around](loss), X)
    a = jnp.sin(X)
    c = jnp.tanh(a * a) + a
    of_b = 2 * c / jnp.cosh(a * a) ** 2
    agrees(run["grad/c"], 2 * c)
    agrees(run["grad/b"], of_b)
    agrees(run["grad/a"], 2 * c + 2 * a * of_b)


@pytest.mark.parametrize("around", AROUND)
def test_values_passed_on_unchanged_or_used_twice_have_their_gradients(around, watched, agrees):
    def loss(x):
        a = x - 1.0
        b = a + 2.0
        c = b + a
        return (jnp.sin(c) * b).sum()

    run = watched(AROUND[around](loss), X)
    a, b = X - 1, X + 1
    of_c = jnp.cos(a + b) * b
    agrees(run["grad/c"], of_c)
    agrees(run["grad/b"], of_c + jnp.sin(a + b))
    agrees(run["grad/a"], 2 * of_c + jnp.sin(a + b))


def test_second_derivatives_under_vmap_have_gradients_of_their_own_size(watched, agrees):
    """The program is Burgers' equation."""
    w = jnp.linspace(-1, 1, 6).reshape(3, 2)

    def u(w, t, x):
        return jnp.tanh(w @ jnp.stack([t, x])).sum()

    def residual(w, t, x):
        u_t = jax.grad(u, 1)(w, t, x)
        u_x = jax.grad(u, 2)(w, t, x)
        u_xx = jax.grad(jax.grad(u, 2), 2)(w, t, x)
        return u_t + u(w, t, x) * u_x - 0.1 * u_xx

    def loss(w):
        r = jax.vmap(residual, (None, 0, 0))(w, jnp.arange(4.0), jnp.ones(4))
        return (r**2).mean()

    run = watched(jax.jit(jax.value_and_grad(loss)), w)
    r = jax.vmap(residual, (None, 0, 0))(w, jnp.arange(4.0), jnp.ones(4))
    agrees(run["grad/r"], r / 2)
    agrees(run["grad/u_t"], r / 2)
    agrees(run["grad/u_xx"], -0.1 * r / 2)


@pytest.mark.skipif(versions.TRACEBACKS_LEAVE_THEIR_PROGRAM, reason="what `jax.vjp` gives has no names on jax 0.8")
def test_the_argument_of_a_gradient_in_a_python_loop_has_a_gradient_each_round(watched, agrees):
    def loss(w, x):
        return (jnp.tanh(x * w) ** 2).sum()

    @jax.jit
    def train(w, x):
        for _ in range(3):
            v = w * 0.9
            (slope,) = jax.vjp(lambda v: loss(v, x), v)[1](1.0)
            w = v - 0.1 * slope
        return w

    w = jnp.float32(0.8)
    run = watched(train, w, X)
    values = [value for name, value in run.values.items() if name.startswith("v@")]
    for value in values:
        v = w * 0.9
        agrees(value, v)
        agrees(value.gradient, jax.grad(loss)(v, X))
        w = v - 0.1 * jax.grad(loss)(v, X)
    assert len(values) == 3


class Pair(NamedTuple):
    """A `NamedTuple`, whose fields are found."""

    left: jax.Array
    right: jax.Array


class Slotted:
    """An object with slots, whose fields are found."""

    __slots__ = ("left", "right")

    def __init__(self, left, right):
        self.left, self.right = left, right


def test_fields_of_objects_that_keep_them_in_slots(watched, agrees):
    @jax.jit
    def f(x):
        pair = Pair(left=x + 1, right=x * 2)
        other = Slotted(pair.left * 3, right=pair.right - 1)
        return other.left * other.right

    run = watched(f, X, watch="pair.*,other.*")
    agrees(run["pair.left"], X + 1)
    agrees(run["pair.right"], X * 2)
    agrees(run["other.left"], X * 3 + 3)
    agrees(run["other.right"], X * 2 - 1)


def test_lambdas_in_one_line_have_each_its_own_results(watched, agrees):
    run = watched(jax.jit(lambda x: jax.checkpoint(lambda y: jnp.sin(y) + 1)(x * 2) ** 2), X)
    agrees(run["jnp.sin(y) + 1"], jnp.sin(X * 2) + 1)
    agrees(run["jax.checkpoint(lambda y: jnp.sin(y) + 1)(x * 2) ** 2"], (jnp.sin(X * 2) + 1) ** 2)


def test_the_program_that_runs_is_the_same(watched):
    """The equations that name cotangents are lowered to nothing."""

    def loss(x):
        a = x - 1.0
        b = jnp.tanh(a)
        return (b * a).sum()

    step = jax.jit(jax.value_and_grad(loss))
    plain = step.lower(X).compile()
    run = watched(step, X, watch="nothing_of_this_name")
    for one, other in zip(jax.tree.leaves(run.result), jax.tree.leaves(plain(X)), strict=True):
        np.testing.assert_array_equal(one, other)


def in_a_sum(x):
    penalty = 0.25 * (total := (x**2).sum())
    return penalty + x.sum() + total


def nowhere_else(x):
    penalty = 0.25 * (total := (x**2).sum())  # noqa: F841 - its name is what this is about
    return penalty + x.sum()


def beside_another(x):
    y, z = (total := (x**2).sum()) * 0.25, x.sum()
    return y + z + total * 2


def as_an_argument(x):
    return jnp.sin(total := (x**2).sum()) + total


@pytest.mark.parametrize(
    ("loss", "rest"),
    [
        (in_a_sum, lambda total: 1.25 * total),
        (nowhere_else, lambda total: 0.25 * total),
        (beside_another, lambda total: 2.25 * total),
        (as_an_argument, lambda total: jnp.sin(total) + total),
    ],
)
def test_the_gradient_of_a_walrus_name_includes_its_use_in_the_same_statement(watched, loss, rest):
    run = watched(jax.jit(jax.value_and_grad(loss)), X, watch="total")
    np.testing.assert_allclose(run["total"].gradient["value"], [jax.grad(rest)((X**2).sum())], rtol=1e-6)
