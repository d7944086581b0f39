"""Test Python branches, of which JAX traces one: names that several of them assign, or reassign."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jax_debug_widgets._jax.compat import versions

X = jnp.arange(1.0, 7.0)
PARAMS = {"a": X / 5, "b": X[:3] / 3}
SCALE = X / 7


def loss_of(params, scale):
    hidden = jnp.tanh(params["a"] * scale)
    return (hidden**2).mean() + (params["b"] ** 2).sum()


def clipped(tree):
    return jax.tree.map(lambda leaf: jnp.clip(leaf, -1e-3, 1e-3), tree)


def with_else(params, scale, kind):
    if kind == "both":
        loss, (grads, slope) = jax.value_and_grad(loss_of, argnums=(0, 1))(params, scale)
    else:
        loss, grads = jax.value_and_grad(loss_of)(params, scale)
        slope = 0
    params = jax.tree.map(lambda one, other: one - other, params, grads)
    return params, scale - slope, loss


def with_match(params, scale, kind):
    match kind:
        case "both":
            loss, (grads, slope) = jax.value_and_grad(loss_of, argnums=(0, 1))(params, scale)
        case "loss":
            loss, (grads, slope) = loss_of(params, scale), (params, scale)
        case _:
            loss, (grads, slope) = 0.0, (params, scale)
    params = jax.tree.map(lambda one, other: one - other, params, grads)
    return params, scale - slope, loss


def assigned_anew(params, scale, kind):
    grads, slope = jax.grad(loss_of, argnums=(0, 1))(params, scale)
    if kind == "clip":
        grads = clipped(grads)
    return {name: leaf * 3 for name, leaf in grads.items()}, slope * 4


def pulled(params, scale, kind):
    loss, pull_back = jax.vjp(loss_of, params, scale)
    if kind == "double":
        loss = loss * 2
    grads, slope = pull_back(1.0)
    if kind == "clip":
        grads = clipped(grads)
    return jax.tree.map(lambda leaf: leaf * 3, grads), slope * 4, loss


def _name(step):
    return step.__name__


pulling = pytest.param(
    pulled,
    marks=pytest.mark.skipif(
        versions.TRACEBACKS_LEAVE_THEIR_PROGRAM, reason="what `jax.vjp` gives has no names on jax 0.8 (docs/limits.md)"
    ),
)


@pytest.mark.behaviour("W1")
@pytest.mark.parametrize("step", [with_else, with_match, assigned_anew, pulling], ids=_name)
def test_names_in_the_traced_branch_are_right_if_another_branch_assigns_them_too(step, watched, agrees):
    run = watched(jax.jit(lambda params, scale: step(params, scale, "both")), PARAMS, SCALE)
    gradients, slope = jax.grad(loss_of, argnums=(0, 1))(PARAMS, SCALE)
    agrees(run["slope"], slope)
    for name, gradient in gradients.items():
        agrees(run[f"grads['{name}']"], gradient)


@pytest.mark.parametrize("step", [assigned_anew, pulling], ids=_name)
def test_a_name_that_the_traced_branch_reassigns_has_both_values(step, watched, whole):
    run = watched(jax.jit(lambda params, scale: step(params, scale, "clip")), PARAMS, SCALE, values=True)
    gradients, slope = jax.grad(loss_of, argnums=(0, 1))(PARAMS, SCALE)
    (told,) = whole(run, "slope")
    np.testing.assert_allclose(told, slope, rtol=1e-5)
    for name, gradient in gradients.items():
        told = whole(run, f"grads['{name}']")
        for one, wanted in zip(told, (gradient, jnp.clip(gradient, -1e-3, 1e-3)), strict=True):
            np.testing.assert_allclose(one, wanted, rtol=1e-5)


def test_values_that_a_branch_exchanges_keep_their_names(watched, whole):
    def exchanged(one, other):
        return other, one

    def product(x, y):
        return (x * jnp.sin(y)).sum()

    def step(x, y, exchanges):
        first, second = jax.grad(product, argnums=(0, 1))(x, y)
        if exchanges:
            first, second = exchanged(first, second)
        return first * 2, second * 3

    wanted = dict(zip(("first", "second"), jax.grad(product, argnums=(0, 1))(X, SCALE), strict=True))
    for exchanges in (False, True):
        run = watched(jax.jit(lambda x, y, exchanges=exchanges: step(x, y, exchanges)), X, SCALE, values=True)
        for name, value in wanted.items():
            for told in whole(run, name):
                np.testing.assert_allclose(told, value, rtol=1e-5)
