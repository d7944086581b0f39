"""Parameters of one type that a loop takes in another order than that of their tree: their gradients keep their names."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax
import pytest
from jax import lax

X, V = jnp.arange(3.0), jnp.ones(3)


def spring(params, state):
    x, v = state
    a = -params["k"] * x - params["c"] * v
    v = v + 0.1 * a
    x = x + 0.1 * v
    return x, v


def through_scan(params, x, v):
    _, xs = lax.scan(lambda state, _: (spring(params, state),) * 2, (x, v), length=3)
    return (xs[0] ** 2).mean()


def through_fori(params, x, v):
    x, _ = lax.fori_loop(0, 3, lambda _, state: spring(params, state), (x, v))
    return (x**2).mean()


def through_jit(params, x, v):
    x, _ = jax.jit(spring)(params, (x, v))
    return ((x - 2) ** 2).mean()


def by_map(params, gradients):
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients)


def by_comprehension(params, gradients):
    return {name: params[name] - 0.1 * gradients[name] for name in params}


def by_optax(params, gradients):
    momentum = optax.sgd(0.1, momentum=0.9)
    updates, _ = momentum.update(gradients, momentum.init(params))
    return optax.apply_updates(params, updates)


@pytest.mark.parametrize("update", [by_map, by_comprehension, by_optax])
@pytest.mark.parametrize("loss", [through_scan, through_fori, through_jit])
@pytest.mark.parametrize("names", ["ck", "kc"])
def test_gradients_have_the_names_of_their_parameters(watched, agrees, loss, update, names):
    def renamed(params, x, v):
        first, second = names
        return loss({"c": params[first], "k": params[second]}, x, v)

    @jax.jit
    def fit(params, x, v):
        value, gradients = jax.value_and_grad(renamed)(params, x, v)
        return update(params, gradients), value

    params = {"c": jnp.full(3, 0.2), "k": jnp.arange(1.0, 4.0)}
    run = watched(fit, params, X, V)
    for leaf, gradient in jax.grad(renamed)(params, X, V).items():
        agrees(run[f"gradients['{leaf}']"], gradient)
        agrees(run[f"grad/params['{leaf}']"], gradient)
