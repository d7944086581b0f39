"""Test that gradients keep their names if a loop reads parameters of one type in another order than their tree has."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax
import pytest
from jax import lax

X, V = jnp.arange(3.0), jnp.ones(3)


def spring(own, state):
    x, v = state
    a = -own["k"] * x - own["c"] * v
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


def by_written_keys(params, gradients):
    return {name: params[name] - 0.1 * gradients[name] for name in ["k", "c"]}


def in_a_loop_over_rates(params, gradients):
    new = dict(params)
    for name, rate in {"k": 0.1, "c": 0.2}.items():
        new[name] = params[name] - rate * gradients[name]
    return new


def after_a_line_that_logs(params, gradients):
    norms = {name: jnp.linalg.norm(gradients[name]) for name in ("k", "c")}
    return by_map(params, gradients), norms


@pytest.mark.parametrize(
    "update", [by_map, by_comprehension, by_optax, by_written_keys, in_a_loop_over_rates, after_a_line_that_logs]
)
@pytest.mark.parametrize("loss", [through_scan, through_fori, through_jit])
@pytest.mark.parametrize("names", ["ck", "kc"])
@pytest.mark.each
def test_gradients_keep_the_names_of_parameters_that_are_used_in_another_order(watched, agrees, loss, update, names):
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


def test_gradients_taken_by_written_keys_have_these_keys(watched, agrees):
    """No gradient is used together with its parameter, and the keys are in another order."""

    def by_comprehension(gradients):
        return {name: jnp.linalg.norm(gradients[name]) for name in ("k", "c")}

    def derived(params, x, v):
        gradients = jax.grad(through_scan)(params, x, v)
        return gradients

    @jax.jit
    def norms(params, x, v):
        gradients = jax.grad(through_scan)(params, x, v)
        return by_comprehension(gradients)

    @jax.jit
    def norms_of_what_another_gives(params, x, v):
        given = derived(params, x, v)
        found = {}
        for name in ("k", "c"):
            found[name] = jnp.linalg.norm(given[name])
        return found

    params = {"c": jnp.full(3, 0.2), "k": jnp.arange(1.0, 4.0)}
    gradients = jax.grad(through_scan)(params, X, V)
    for program in (norms, norms_of_what_another_gives):
        run = watched(program, params, X, V)
        for key, gradient in gradients.items():
            agrees(run[f"gradients['{key}']"], gradient)
