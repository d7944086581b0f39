"""Test that the gradients which `jax.jit(jax.grad(f))` returns are watched as those of the arguments of `f`."""

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
def test_the_result_of_a_jitted_gradient_is_the_gradient_of_its_argument(kind, watched, agrees):
    run = watched(jax.jit(JITTED[kind]), PARAMS, X, X, watch="grad/params")
    for name, gradient in jax.grad(loss)(PARAMS, X, X).items():
        agrees(run[f"grad/params['{name}']"], gradient)


def test_the_gradient_of_an_argument_belongs_to_the_value_of_the_argument(watched, agrees):
    run = watched(jax.jit(jax.grad(loss)), PARAMS, X, X)
    agrees(run["params['w']"].gradient, run.result["w"])


def with_aux(params, x, y):
    return loss(params, x, y), x


ALIKE = {
    "second": (jax.grad(loss, argnums=1), {"x": lambda result: result}),
    "last": (jax.grad(loss, argnums=-1), {"y": lambda result: result}),
    "both": (jax.grad(loss, argnums=(1, 2)), {"x": lambda result: result[0], "y": lambda result: result[1]}),
    "other way round": (
        jax.value_and_grad(loss, argnums=(2, 1)),
        {"x": lambda result: result[1][1], "y": lambda result: result[1][0]},
    ),
    "aux": (jax.grad(with_aux, argnums=2, has_aux=True), {"y": lambda result: result[0]}),
}


@pytest.mark.parametrize("kind", ALIKE)
@pytest.mark.parametrize("is_lowered", [False, True], ids=["called", "lowered"])
def test_arguments_of_one_type_have_their_own_gradients(kind, is_lowered, watched, agrees):
    derivative, gradients = ALIKE[kind]
    program = jax.jit(derivative)

    def ahead(*arguments):
        return program.lower(*arguments).compile()(*arguments)

    run = watched(ahead if is_lowered else program, PARAMS, X, X * 2, watch="grad/*")
    for name, of in gradients.items():
        agrees(run[f"grad/{name}"], of(run.result))
    assert {name for name in run.values if name in ("grad/x", "grad/y")} == {f"grad/{name}" for name in gradients}


def test_a_vmapped_gradient_is_the_gradient_of_its_argument(watched, agrees):
    mapped = jax.vmap(jax.grad(loss, argnums=2), (None, 0, 0))
    run = watched(jax.jit(mapped), PARAMS, X[None], X[None] * 2, watch="grad/*")
    agrees(run["grad/y"], run.result)
    assert "grad/x" not in run.values


def test_gradients_of_star_arguments_and_of_arguments_of_methods_are_watched(watched, agrees):
    run = watched(jax.jit(jax.grad(lambda x, *rest: (x * rest[0] ** 2 * rest[1]).sum(), argnums=1)), X, X * 2, X)
    agrees(run["grad/rest[0]"], run.result)
    assert "grad/x" not in run.values

    class Model:
        def loss(self, x, y):
            return (x * y**2).sum()

    run = watched(jax.jit(jax.grad(Model().loss, argnums=1)), X, X * 2)
    agrees(run["grad/y"], run.result)
    assert "grad/x" not in run.values


def test_a_wrapped_gradient_has_the_name_of_the_inner_argument(watched, agrees):
    def turned(params, y, x):
        return jax.grad(loss, argnums=1)(params, x, y)

    run = watched(jax.jit(turned), PARAMS, X, X * 2, watch="grad/*")
    agrees(run["grad/x"], jax.grad(loss, argnums=1)(PARAMS, X * 2, X))
    assert "grad/y" not in run.values


def test_a_returned_gradient_by_changed_parameters_is_not_that_of_the_arguments(watched):
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
