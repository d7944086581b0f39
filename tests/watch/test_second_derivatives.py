"""Test the loss of a physics-informed network, which contains second derivatives and is differentiated itself."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

W = jnp.arange(6.0).reshape(3, 2) / 5
T, X = jnp.linspace(0.1, 0.4, 4), jnp.linspace(0.7, 0.2, 4)


def u(w, t, x):
    z = jnp.stack([t, x])
    h = jnp.tanh(w @ z)
    return jnp.sum(h**2)


def residual(w, t, x):
    ut = jax.grad(u, 1)(w, t, x)
    uxx = jax.grad(jax.grad(u, 2), 2)(w, t, x)
    return ut - uxx


def loss(w, t, x):
    r = jax.vmap(residual, (None, 0, 0))(w, t, x)
    return jnp.mean(r**2)


def loss_and_gradient(w, t, x):
    cost, gradient = jax.value_and_grad(loss)(w, t, x)
    return cost, gradient


def first_by_z(w, t, x):
    return jax.grad(lambda z: jnp.sum(jnp.tanh(w @ z) ** 2))(jnp.stack([t, x]))


@pytest.mark.parametrize("program", [jax.value_and_grad(jax.jit(loss)), jax.jit(loss_and_gradient)])
def test_second_derivatives_of_a_loss_keep_their_values_and_gradients(program, watched, whole, agrees):
    run = watched(program, W, T, X, values=True)
    each = jax.vmap(residual, (None, 0, 0))(W, T, X)
    agrees(run["ut"], jax.vmap(jax.grad(u, 1), (None, 0, 0))(W, T, X))
    agrees(run["uxx"], jax.vmap(jax.grad(jax.grad(u, 2), 2), (None, 0, 0))(W, T, X))
    agrees(run["r"], each)
    agrees(run["grad/r"], each / 2)
    agrees(run["grad/ut"], each / 2)
    # Gradients of the first derivative, if any.
    for gradient in whole(run, "grad/z"):
        np.testing.assert_allclose(gradient, jax.vmap(first_by_z, (None, 0, 0))(W, T, X), rtol=1e-5)


def test_values_in_second_derivatives_have_the_gradients_of_each_derivative(watched, whole):
    """The gradient of `z` in the first of the two derivatives for `x` has no use."""
    run = watched(jax.value_and_grad(jax.jit(loss)), W, T, X, values=True)
    (of_z,), of_h = whole(run, "grad/z"), whole(run, "grad/h")
    np.testing.assert_allclose(of_z, jax.vmap(first_by_z, (None, 0, 0))(W, T, X), rtol=1e-5)
    for one in of_h:
        np.testing.assert_allclose(one, 2 * jnp.tanh(jnp.stack([T, X], 1) @ W.T), rtol=1e-5)
    assert len(of_h) == 2


def test_a_gradient_has_the_size_of_its_value(watched, agrees):
    def v(w, t, x):
        return jnp.tanh(jnp.stack([t, x]) @ w).sum()

    def squared(w, t, x):
        vx = jax.grad(v, 2)(w, t, x)
        vxx = jax.grad(jax.grad(v, 2), 2)(w, t, x)
        r = vx * 2 - vxx
        return r**2

    run = watched(jax.jit(jax.value_and_grad(squared)), W.T, 0.3, 0.4)
    agrees(run["grad/vx"], 2 * run["grad/r"]["value"][0])
    agrees(run["grad/vxx"], -run["grad/r"]["value"][0])
