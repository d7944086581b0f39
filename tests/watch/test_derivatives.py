"""What `grad`, `value_and_grad` and `vjp` give has the names that the source gives it; gradients are of their values."""

from __future__ import annotations

import equinox
import jax
import jax.numpy as jnp
import numpy as np
import pytest

X = jnp.arange(1.0, 5.0)


def value_and_aux(x):
    return jnp.sin(x).sum() * 2, jnp.cos(x)


def value_and_grad(f, x):
    (value, aux), g = jax.value_and_grad(f, has_aux=True)(x)
    return value, aux, g


def value_and_grad_of_a_library(f, x):
    (value, aux), g = equinox.filter_value_and_grad(f, has_aux=True)(x)
    return value, aux, g


def grad(f, x):
    g, aux = jax.grad(f, has_aux=True)(x)
    return aux, g


def grad_of_a_library(f, x):
    g, aux = equinox.filter_grad(f, has_aux=True)(x)
    return aux, g


def vjp(f, x):
    value, pull, aux = jax.vjp(f, x, has_aux=True)
    (g,) = pull(1.0)
    return value, aux, g


@pytest.mark.parametrize("derive", [value_and_grad, value_and_grad_of_a_library, grad, grad_of_a_library, vjp])
def test_the_value_what_comes_with_it_and_the_gradient_are_told_apart(derive, watched, agrees):
    run = watched(jax.jit(lambda x: derive(value_and_aux, x)), X)
    names = set(run.values)
    agrees(run["aux"], jnp.cos(X))
    if "value" in names:
        agrees(run["value"], value_and_aux(X)[0])
    if derive is vjp:
        assert not {name for name in names if name.startswith("pull")}, "a function"
    else:
        agrees(run["g"], 2 * jnp.cos(X))


def test_what_vjp_gives_first_is_a_value_and_then_a_function(watched, agrees):
    @jax.jit
    def f(x):
        value, pull = jax.vjp(jnp.sin, x)
        (g,) = pull(jnp.ones(4))
        return value, g

    run = watched(f, X)
    agrees(run["value"], jnp.sin(X))
    assert not [name for name in run.values if name.startswith("pull")]


@pytest.mark.parametrize("is_inside_a_scan", [False, True])
def test_each_layer_of_a_python_loop_has_one_gradient(is_inside_a_scan, watched):
    layers = [jax.random.normal(key, (4, 4)) for key in jax.random.split(jax.random.key(0), 3)]

    def forward(x, added):
        for w, one in zip(layers, added, strict=True):
            z = x @ w
            x = jnp.tanh(z) + one  # `tanh` is transposed into two products
        return (x**2).sum()

    def loss(x):
        for w in layers:
            z = x @ w
            x = jnp.tanh(z)
        return (x**2).sum()

    def looped(x):
        def body(carry, _):
            return carry, loss(x)

        return jax.lax.scan(body, 0.0, length=1)[1].sum()

    run = watched(jax.jit(jax.grad(looped if is_inside_a_scan else loss)), X, watch="grad/x")
    wanted = jax.grad(forward, argnums=1)(X, [jnp.zeros(4)] * 3)
    found = [value["l2"].item() for name, value in run.values.items()]
    norms = [jnp.linalg.norm(one) for one in wanted]
    np.testing.assert_allclose(found, norms, rtol=1e-4)
    np.testing.assert_allclose(
        [run.series(f"grad_norm/x#{number}")[1].item() for number in (1, 2, 3)], norms, rtol=1e-4
    )


def test_each_execution_of_a_line_has_its_own_gradient(watched, agrees):
    @jax.jit
    def loss(x):
        y = x
        for scale in (2.0, 3.0):
            y = jnp.sin(y) * scale
        return y.sum()

    run = watched(jax.jit(jax.value_and_grad(loss)), X)
    first, second = (name for name in run.values if name.startswith("y@"))
    agrees(run[first].gradient, 3 * jnp.cos(2 * jnp.sin(X)))
    agrees(run[second].gradient, jnp.ones(4))


def test_a_jitted_function_and_one_of_single_numbers_have_gradients_too(watched, agrees):
    @jax.jit
    def loss(x):
        y = jnp.sin(x)
        return (y**2).sum()

    run = watched(jax.jit(jax.value_and_grad(loss)), X)
    agrees(run["grad/y"], 2 * jnp.sin(X))

    def single(x):
        y = jnp.sin(x)
        z = jnp.exp(y)
        return z * z

    run = watched(jax.jit(jax.value_and_grad(single)), 0.5)
    agrees(run["grad/z"], 2 * jnp.exp(jnp.sin(0.5)))
    agrees(run["grad/y"], 2 * jnp.exp(jnp.sin(0.5)) ** 2)
