"""Test that weights which a jitted function gets with their model have the names of the model's methods."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest


class Layer(eqx.Module):
    """A layer with a matrix and a vector."""

    w: jax.Array
    b: jax.Array

    def __call__(self, x):
        z = self.w @ x + self.b
        return jnp.tanh(z)

    def beside(self, other, x):
        z = (self.w * other.w) @ x
        return z.sum()


class Network(eqx.Module):
    """A network of two layers."""

    layers: list[Layer]
    scale: jax.Array

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return (x * self.scale).sum()


X = jnp.linspace(0, 1, 3)
MODEL = Network([Layer(jnp.eye(3) * i, jnp.ones(3) * i) for i in (1, 2)], jnp.full(3, 0.5))


@pytest.mark.behaviour("W1")
@pytest.mark.parametrize("differentiate", [lambda f: f, jax.value_and_grad], ids=["value", "gradient"])
@pytest.mark.parametrize("jit", [jax.jit, eqx.filter_jit])
def test_fields_of_self_are_the_weights_that_each_layer_takes(jit, differentiate, watched, agrees):
    run = watched(jit(differentiate(lambda model, x: model(x))), MODEL, X, watch="self.*")
    told = {name.replace("test_fields.py", ""): value for name, value in run.values.items()}
    for name, field in (("self.w", "w"), ("self.b", "b")):
        own = [value for label, value in told.items() if label.startswith(name)]
        for value, layer in zip(own, MODEL.layers, strict=True):
            agrees(value, getattr(layer, field))
    agrees(told["self.scale"], MODEL.scale)


def test_a_field_name_of_two_objects_is_not_used(watched):
    one, other = MODEL.layers
    run = watched(jax.jit(lambda one, other: one.beside(other, X)), one, other, watch="self.w,z")
    assert list(run.values) == ["z"]
    assert any("self.w" in note for note in run.notes)


def test_watching_everything_names_a_models_weights_once(watched):
    run = watched(jax.jit(lambda model: model(X)), MODEL)
    assert "model.layers[0].w" in run.values
    assert not [name for name in run.values if name.startswith("self.")]


def test_a_model_that_is_jitted_itself(watched, agrees):
    run = watched(eqx.filter_jit(MODEL), X)
    agrees(run["x@test_fields.py:32"], X)
    agrees(run["self.scale"], MODEL.scale)
    for number, layer in enumerate(MODEL.layers):
        agrees(run[f"self.layers[{number}].w"], layer.w)
        agrees(run[f"self.layers[{number}].b"], layer.b)
    run = watched(eqx.filter_jit(MODEL), X, watch="self.w")
    for number, layer in enumerate(MODEL.layers, 1):
        agrees(run[f"self.w@test_fields.py:18#{number}"], layer.w)
