"""Test the named leaves of arguments of `equinox.filter_jit` and `flax.nnx.jit`, and of values of their structure."""

from __future__ import annotations

import weakref

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from sklearn.datasets import load_digits

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat import versions

since_9 = pytest.mark.skipif(
    versions.TRACEBACKS_LEAVE_THEIR_PROGRAM,
    reason="gradients have their leaves by number on jax 0.8 (docs/limits.md)",
)
OPTIMISER = optax.sgd(0.1, momentum=0.9)


@pytest.fixture(scope="module")
def digits():
    """Return images float32[64, 64] and labels int32[64]."""
    images, labels = load_digits(return_X_y=True)
    return (images[:64] / 16).astype(np.float32), labels[:64].astype(np.int32)


@pytest.fixture
def perceptron():
    return eqx.nn.MLP(64, 10, 16, 1, key=jax.random.key(0))


def loss_of(model, images, labels):
    logits = jax.vmap(model)(images)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@eqx.filter_jit
def step(model, state, images, labels):
    loss, grads = eqx.filter_value_and_grad(loss_of)(model, images, labels)
    updates, state = OPTIMISER.update(grads, state, model)
    new = eqx.apply_updates(model, updates)
    return new, state, loss


def assert_leaves_agree(run, agrees, name, tree):
    leaves = {
        f"{name}{jax.tree_util.keystr(path)}": leaf
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
        if eqx.is_array(leaf)
    }
    assert leaves
    for own, leaf in leaves.items():
        agrees(next(value for value in run.values.values() if value.site.label == own), leaf)


@since_9
def test_an_equinox_model_its_gradients_and_updates(watched, agrees, digits, perceptron):
    state = OPTIMISER.init(eqx.filter(perceptron, eqx.is_array))
    step(perceptron, state, *digits)  # Programs that were traced and compiled before have names, too.
    run = watched(step, perceptron, state, *digits)
    grads = eqx.filter_grad(loss_of)(perceptron, *digits)
    updates, _ = OPTIMISER.update(grads, state)
    assert_leaves_agree(run, agrees, "model", perceptron)
    assert_leaves_agree(run, agrees, "state", state)
    assert_leaves_agree(run, agrees, "grads", grads)
    assert_leaves_agree(run, agrees, "updates", updates)
    assert_leaves_agree(run, agrees, "new", eqx.apply_updates(perceptron, updates))
    agrees(run["images"], digits[0])
    assert not [name for name in run.values if name.endswith("]")]


@since_9
def test_leaves_of_a_model_are_watched_by_pattern(watched, agrees, digits, perceptron):
    state = OPTIMISER.init(eqx.filter(perceptron, eqx.is_array))
    run = watched(step, perceptron, state, *digits, watch="grads.layers[0].*, logits")
    assert {name.partition("@")[0] for name in run.values} == {
        "grads.layers[0].weight",
        "grads.layers[0].bias",
        "logits",
        "grad/logits",
    }
    agrees(run["grads.layers[0].weight"], eqx.filter_grad(loss_of)(perceptron, *digits).layers[0].weight)


def test_a_method_of_an_equinox_module(watched, agrees):
    class Scaled(eqx.Module):
        scale: jax.Array
        shifts: dict[str, jax.Array]

        @eqx.filter_jit
        def __call__(self, x, *, power):
            scaled = self.scale * x**power
            return scaled + self.shifts["by"]

    model = Scaled(jnp.float32(3), {"by": jnp.float32(0.5)})
    run = watched(lambda x: model(x, power=jnp.float32(2)), jnp.arange(4.0))
    agrees(run["self.scale"], 3)
    agrees(run["self.shifts['by']"], 0.5)
    agrees(run["x"], np.arange(4.0))
    agrees(run["power"], 2)


def test_an_array_given_as_several_arguments_has_each_name(watched, agrees):
    @eqx.filter_jit
    def total(pair, other):
        doubled = pair[0] + pair[1] + other
        return doubled.sum()

    one = jnp.arange(3.0)
    run = watched(total, (one, one), one)
    for name in ("pair[0]", "pair[1]", "other"):
        agrees(run[name], one)


def test_arrays_that_the_caller_drops_are_freed():
    """Inspecting a frame of Python keeps its values, for example arrays that a training loop is about to drop."""
    doubled = jax.jit(lambda x: jnp.sum(x * 2))

    def train():
        x = jnp.ones(1000)
        kept = weakref.ref(x)
        doubled(x)
        jax.effects_barrier()
        del x
        return kept() is None

    with jdw.capture(watch="jnp.sum(x * 2)"):
        assert train()


@since_9
def test_gradients_of_a_step_compiled_ahead_of_time_have_their_names(watched, agrees, digits, perceptron):
    state = OPTIMISER.init(eqx.filter(perceptron, eqx.is_array))

    def compiled(*args):
        return step.lower(*args).compile()(*args)

    run = watched(compiled, perceptron, state, *digits)
    assert_leaves_agree(run, agrees, "grads", eqx.filter_grad(loss_of)(perceptron, *digits))


class Normed(nnx.Module):
    def __init__(self, rngs):
        self.head = nnx.Linear(64, 10, rngs=rngs)
        self.norm = nnx.BatchNorm(64, rngs=rngs)

    def __call__(self, images):
        normed = self.norm(images)
        return self.head(normed)


def nnx_loss_of(model, images, labels):
    logits = model(images)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@since_9
def test_an_nnx_model_and_its_gradients(watched, agrees, digits):
    model = Normed(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, OPTIMISER, wrt=nnx.Param)

    @nnx.jit
    def train(model, optimizer, images, labels):
        loss, grads = nnx.value_and_grad(nnx_loss_of)(model, images, labels)
        optimizer.update(model, grads)
        return loss

    before = nnx.clone(model)
    run = watched(train, model, optimizer, *digits)
    grads = nnx.grad(nnx_loss_of)(nnx.clone(before), *digits)
    for part, kind in (("head", "kernel"), ("head", "bias"), ("norm", "scale"), ("norm", "bias")):
        agrees(run[f"model.{part}.{kind}"], getattr(getattr(before, part), kind)[...])
        agrees(run[f"grads.{part}.{kind}"], grads[part][kind][...])
    agrees(run["model.norm.var"], before.norm.var[...])  # The variance is no parameter, so `grads` does not have it.
    agrees(run["logits"], nnx.clone(before)(digits[0]))
    agrees(run["loss"], run.result)


def test_a_wrapper_of_the_users_own_changes_nothing(watched, agrees):
    """The wrapper has a function and its arguments, as a library's has, but passes them to `jax.jit` unchanged."""

    @jax.jit
    def scaled(params, x):
        y = params["w"] * x
        return y.sum()

    @jax.jit
    def other(x, params):
        return x - params["w"]

    def timed(function, *args, **kwargs):  # noqa: ANN003 - it is the shape of such wrappers.
        return other(function(*args, **kwargs), args[0])

    run = watched(timed, scaled, {"w": jnp.float32(3)}, jnp.float32(2))
    agrees(run["y"], 6)
    assert {value.site.label for value in run.values.values()} >= {"params['w']", "x", "y"}
