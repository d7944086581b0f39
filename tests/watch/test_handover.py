"""Test that watched values of a step without long loops come back among its results."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from sklearn.datasets import load_digits

import jax_debug_widgets as jdw
from jax_debug_widgets.session import current_session
from tests.conftest import mesh

IMAGES, LABELS = load_digits(return_X_y=True)
IMAGES, LABELS = np.float32(IMAGES / 16), np.int32(LABELS)
WEIGHTS = {"w": np.float32(np.random.default_rng(0).normal(size=(64, 10)) / 8), "b": np.zeros(10, np.float32)}
STEPS = 5


def loss_of(params, images, labels):
    logits = images @ params["w"] + params["b"][None]
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def train(step):
    params, losses = WEIGHTS, []
    for _ in range(STEPS):
        params, loss = step(params)
        losses.append(loss)
    return params, losses


def step(params):
    loss, grads = jax.value_and_grad(loss_of)(params, IMAGES, LABELS)
    return jax.tree.map(lambda p, g: p - g / 2, params, grads), loss


def jitted_loss(params):
    loss, grads = jax.value_and_grad(jax.jit(loss_of))(params, IMAGES, LABELS)
    return jax.tree.map(lambda p, g: p - g / 2, params, grads), loss


def looping(params):
    def body(params, _):
        loss, grads = jax.value_and_grad(loss_of)(params, IMAGES, LABELS)
        return jax.tree.map(lambda p, g: p - g / 2, params, grads), loss

    params, losses = lax.scan(body, params, length=2)
    return params, losses[0]


@pytest.mark.behaviour("W1", "W3")
@pytest.mark.parametrize("function", [step, jitted_loss])
def test_each_call_gives_its_own_values_and_the_same_bits(function, handed, same_bits):
    program = jax.jit(function)
    plain = train(program)
    with jdw.capture(watch="loss,logits,grads") as run:
        watched = train(program)
    assert len(handed) == STEPS
    assert same_bits(watched, plain)
    np.testing.assert_allclose(run["loss"]["value"], np.asarray(plain[1]), rtol=1e-6)
    logits = run["logits"]
    assert logits.steps.tolist() == list(range(STEPS))
    params = WEIGHTS
    for mean, l2 in zip(logits["mean"], logits.gradient["l2"], strict=True):
        values = IMAGES @ params["w"] + params["b"][None]
        cotangent = jax.grad(lambda logits: optax.softmax_cross_entropy_with_integer_labels(logits, LABELS).mean())(
            values
        )
        np.testing.assert_allclose(mean, np.mean(values), rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(l2, np.linalg.norm(cotangent), rtol=1e-4)
        params, _ = function(params)
    assert [call.events for call in run.calls] == [len(run.sites)] * STEPS
    assert not run.notes


def test_values_in_loops_of_several_devices_and_under_a_condition_call_the_host(handed):
    def on_a_mesh(params):
        images = lax.with_sharding_constraint(IMAGES[:1792], NamedSharding(mesh(), P("d")))
        loss = loss_of(params, images, LABELS[:1792])
        return params, loss

    for function, options in ((looping, {}), (on_a_mesh, {}), (step, {"when": "loss > 0"})):
        with jdw.capture(watch="loss", **options) as run:
            train(jax.jit(function))
        assert len(run["loss"]["value"]), function
    assert not handed


def test_each_second_call_hands_over_its_values(handed):
    with jdw.capture(watch="loss", every=2) as run:
        train(jax.jit(step))
    assert run["loss"].steps.tolist() == list(range(0, STEPS, 2))
    assert len(handed) == len(range(0, STEPS, 2))


def test_whole_values_are_handed_over_where_they_are_small(handed):
    with jdw.capture(watch="double", values=True) as run:
        jax.jit(lambda x: (double := x * 2).sum() + double.max())(jnp.arange(4.0))
    np.testing.assert_array_equal(run["double"]["value"][0], [0, 2, 4, 6])
    assert len(handed) == 1
    with jdw.capture(watch="double", values=True) as run:
        jax.jit(lambda x: (double := x * 2).sum() + double.max())(jnp.ones((200, 200)))
    assert run["double"]["value"][0].size
    assert len(handed) == 1


def test_unused_values_are_neither_watched_nor_computed(handed):
    kept = np.arange(3, dtype=np.float32)

    def wasteful(x, unused):
        never = unused * kept[:, None]  # noqa: F841 - that is the point.
        total = (x + kept).sum()
        return total * 2

    with jdw.capture(watch="total,never") as run:
        jax.jit(wasteful)(jnp.ones(3), jnp.ones((3, 4)))
    assert len(handed) == 1
    assert run["total"]["value"].tolist() == [6]
    assert len(run.values) == 1


def test_a_muted_name_is_not_recorded(handed):
    program, switches = jax.jit(lambda x: (total := x.sum()) * total), current_session().switches
    with jdw.capture(watch="total") as run:
        program(jnp.ones(3))
        jax.effects_barrier()
        [site] = run.sites
        switches.mute(site.id, muted=True)
        program(jnp.ones(3))
    switches.mute(site.id, muted=False)
    assert run["total"]["value"].tolist() == [3]
    assert len(handed) == 2
