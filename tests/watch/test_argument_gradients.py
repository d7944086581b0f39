"""The gradients that `jax.jit(jax.grad(f))` gives are those of the arguments of `f`, and are watched as such."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

PARAMS = {"w": jnp.eye(3), "b": jnp.ones(3)}
X = jnp.linspace(0.1, 0.6, 6).reshape(2, 3)


def loss(params, x, y):
    h = jnp.tanh(x @ params["w"] + params["b"][None])
    return ((h - y) ** 2).mean()


JITTED = {
    "grad": jax.grad(loss),
    "value_and_grad": jax.value_and_grad(loss),
    "of several": jax.grad(loss, argnums=(0, 1)),
}


@pytest.mark.behaviour("W4")
@pytest.mark.parametrize("kind", JITTED)
def test_each_argument_has_its_own(kind, watched, agrees):
    run = watched(jax.jit(JITTED[kind]), PARAMS, X, X, watch="grad/params")
    for name, gradient in jax.grad(loss)(PARAMS, X, X).items():
        agrees(run[f"grad/params['{name}']"], gradient)


def test_it_stands_beside_the_value_of_its_argument(watched, agrees):
    run = watched(jax.jit(jax.grad(loss)), PARAMS, X, X)
    agrees(run["params['w']"].gradient, run.result["w"])


def test_of_arguments_that_are_alike_nobody_says_which_it_is_of(watched):
    run = watched(jax.jit(jax.grad(loss, argnums=1)), PARAMS, X, X, watch="grad/*")
    assert list(run.values) == ["grad/h"]


def test_what_a_function_returns_that_asks_for_a_derivative_is_not_taken_for_that_of_its_arguments(watched):
    @jax.jit
    def step(params, x):
        doubled = jax.tree.map(lambda one: one * 2, params)
        return jax.grad(loss)(doubled, x, x)

    run = watched(step, PARAMS, X, watch="grad/*")
    assert not [name for name in run.values if "params" in name]


def test_a_nan_that_is_born_in_the_gradient_is_found_where_nothing_has_its_name(watched):
    def masked(x):
        logarithm = jnp.log(x)
        kept = jnp.where(x > 0, logarithm, 0.0)
        return kept.sum()

    run = watched(jax.jit(jax.grad(masked)), jnp.arange(3.0))
    assert np.isnan(run.result[0])
    assert "grad/x" in run.findings[0].message
