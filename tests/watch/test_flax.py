"""Test training steps of flax.nnx: internal state (counters of dropouts, means of norms) has no name of a gradient."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import linen, nnx
from sklearn.datasets import load_digits

from jax_debug_widgets._jax.compat import versions

pytestmark = pytest.mark.skipif(
    versions.TRACEBACKS_LEAVE_THEIR_PROGRAM,
    reason="gradients have their leaves by number on jax 0.8 (docs/limits.md)",
)


class Network(nnx.Module):
    """A network of two equal blocks, with every kind of state."""

    def __init__(self, rngs):
        self.layers = nnx.List([nnx.Linear(64, 64, rngs=rngs), nnx.Linear(64, 64, rngs=rngs)])
        self.norm = nnx.BatchNorm(64, rngs=rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)
        self.head = nnx.Linear(64, 10, rngs=rngs)

    def __call__(self, x):
        for layer in self.layers:
            h = layer(x)
            x = nnx.relu(h)
        normed = self.norm(x)
        dropped = self.drop(normed)
        logits = self.head(dropped)
        return logits


def loss_of(model, images, labels):
    logits = model(images)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def loss_and_logits(model, images, labels):
    logits = model(images)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), logits


@pytest.fixture
def digits():
    """Return images float32[64, 64] and labels int32[64]."""
    images, labels = load_digits(return_X_y=True)
    return (images[:64] / 16).astype(np.float32), labels[:64].astype(np.int32)


@pytest.fixture
def model():
    return Network(nnx.Rngs(0))


@pytest.fixture
def optimizer(model):
    return nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)


def assert_gradients_agree(run, name, grads):
    def agrees(path, wanted):  # A sum of terms that cancel may be 0 here and 1e-9 there.
        value, wanted = run[f"{name}.{path}"], np.asarray(wanted[...])
        size = np.linalg.norm(wanted)
        np.testing.assert_allclose(value["l2"][0], size, rtol=1e-4, atol=1e-7)
        for statistic in ("min", "max", "mean"):
            np.testing.assert_allclose(
                value[statistic][0], getattr(wanted, statistic)(), rtol=1e-3, atol=1e-4 * size + 1e-7
            )

    for number in (0, 1):
        for kind in ("kernel", "bias"):
            agrees(f"layers[{number}].{kind}", grads["layers"][number][kind])
    for part, kind in (("norm", "scale"), ("norm", "bias"), ("head", "kernel"), ("head", "bias")):
        agrees(f"{part}.{kind}", grads[part][kind])
    assert not [value for value in run if value.startswith(f"{name}[")]


def test_gradients_of_nnx_grad_have_their_names(watched, digits, model, optimizer):
    @nnx.jit
    def step(model, optimizer, images, labels):
        grads = nnx.grad(loss_of)(model, images, labels)
        optimizer.update(model, grads)

    grads = nnx.grad(loss_of)(nnx.clone(model), *digits)
    assert_gradients_agree(watched(step, model, optimizer, *digits), "grads", grads)


@pytest.mark.parametrize("tells", ["names", "nothing"])
def test_the_loss_and_the_auxiliary_output_have_their_names(watched, agrees, digits, model, optimizer, tells):
    def told(logits, loss):
        best = logits.max()
        return best - loss

    @nnx.jit
    def in_one_call(model, optimizer, images, labels):
        (loss, logits), grads = nnx.value_and_grad(loss_and_logits, has_aux=True)(model, images, labels)
        margin = told(logits=logits, loss=loss)  # The call does not show which argument is which.
        optimizer.update(model, grads)
        return margin

    @nnx.jit
    def by_name(model, optimizer, images, labels):
        (loss, logits), grads = nnx.value_and_grad(loss_and_logits, has_aux=True)(model, images, labels)
        hits = logits.argmax(1) == labels
        optimizer.update(model, grads)
        return loss, hits.mean()

    (loss, logits), grads = nnx.value_and_grad(loss_and_logits, has_aux=True)(nnx.clone(model), *digits)
    step = by_name if tells == "names" else in_one_call
    run = watched(step, model, optimizer, *digits)
    assert_gradients_agree(run, "grads", grads)
    (line,) = {run[name].site.line for name in run if name.startswith("grads.")}
    found = {value.site.label: value for value in run.values.values() if value.site.line == line}
    agrees(found["loss"], loss)
    agrees(found["logits"], logits)
    assert {name for name in found if not name.startswith("grads.")} == {"loss", "logits"}


def test_gradients_of_two_passes_in_one_nnx_step_have_their_names(watched, agrees, digits, model, optimizer):
    @nnx.jit
    def step(model, optimizer, images, labels):
        first, one = nnx.value_and_grad(loss_of)(model, images[:32], labels[:32])
        second, other = nnx.value_and_grad(loss_of)(model, images[32:], labels[32:])
        grads = jax.tree.map(lambda a, b: (a + b) / 2, one, other)
        optimizer.update(model, grads)
        return (first + second) / 2

    images, labels = digits
    by_hand = nnx.clone(model)
    first, one = nnx.value_and_grad(loss_of)(by_hand, images[:32], labels[:32])
    second, other = nnx.value_and_grad(loss_of)(by_hand, images[32:], labels[32:])
    run = watched(step, model, optimizer, *digits)
    agrees(run["first"], first)
    agrees(run["second"], second)
    assert_gradients_agree(run, "one", one)
    assert_gradients_agree(run, "other", other)
    assert_gradients_agree(run, "grads", jax.tree.map(lambda a, b: (a + b) / 2, one, other))


def test_values_and_gradients_are_right_if_a_second_pass_takes_the_state_of_the_first(watched, agrees, digits):
    model = nnx.Sequential(
        nnx.Linear(64, 16, rngs=nnx.Rngs(0)), nnx.BatchNorm(16, rngs=nnx.Rngs(0)), nnx.Linear(16, 10, rngs=nnx.Rngs(1))
    )

    @nnx.jit
    def step(model, images, labels):
        one = nnx.grad(loss_of)(model, images[:32], labels[:32])
        other = nnx.grad(loss_of)(model, images[32:], labels[32:])
        return jax.tree.map(jnp.add, one, other)

    by_hand = nnx.clone(model)
    wanted = [by_hand(digits[0][:32]), by_hand(digits[0][32:])]
    run = watched(step, model, *digits)
    (place,) = {name.rpartition("#")[0] for name in run if name.startswith("logits@")}
    agrees(run[f"{place}#1"], wanted[0])
    agrees(run[f"{place}#2"], wanted[1])

    def from_logits(logits, labels):
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    for number, part in enumerate((slice(32), slice(32, None))):
        slope = jax.grad(from_logits)(wanted[number], digits[1][part])
        agrees(run[f"{place}#{number + 1}"].gradient, slope)
    assert not [name for name in run if name.startswith("logits[")]


class Perceptron(linen.Module):
    """A module of flax.linen; jitting its `apply` jits a function of JAX that wraps `apply`."""

    @linen.compact
    def __call__(self, x):
        h = linen.Dense(4)(x)
        return jnp.tanh(h).sum()


@pytest.mark.parametrize("transform", [lambda f: f, jax.grad, jax.value_and_grad], ids=["apply", "grad", "both"])
def test_apply_is_watched_where_it_is_jitted_itself(transform, watched, agrees):
    module, x = Perceptron(), jnp.linspace(0, 1, 6).reshape(2, 3)
    variables = module.init(jax.random.key(0), x)
    run = watched(jax.jit(transform(module.apply)), variables, x, watch="h,grad/h")
    dense = variables["params"]["Dense_0"]
    h = x @ dense["kernel"] + dense["bias"][None]
    if transform is not jax.grad:
        agrees(run["h"], h)
    if transform in (jax.grad, jax.value_and_grad):
        agrees(run["grad/h"], 1 - jnp.tanh(h) ** 2)


def test_a_name_of_a_library_is_answered_with_how_it_is_asked_for(watched, agrees):
    module, x = Perceptron(), jnp.linspace(0, 1, 6).reshape(2, 3)
    variables = module.init(jax.random.key(0), x)
    # Other tests watch `y`, and a note would name the lines in their functions.
    run = watched(jax.jit(module.apply), variables, x, watch="y", histograms=True)
    assert "'y' is a variable of a library: `--watch y@linear.py` (watch='y@linear.py') asks for it." in run.notes
    run = watched(jax.jit(module.apply), variables, x, watch="y@linear.py,h")
    products = [value for name, value in run.values.items() if value.site.source.startswith("y = dot_general")]
    agrees(products[0], x @ variables["params"]["Dense_0"]["kernel"])


def test_the_remains_of_an_unused_expression_do_not_get_its_name(watched):
    """Of the expression for `z` only the computation of its key is left."""

    class Net(linen.Module):
        @linen.compact
        def __call__(self, x):
            z = linen.Dense(4)(x)
            return jnp.tanh(z)

    class Outer(linen.Module):
        @linen.compact
        def __call__(self, x):
            return linen.remat(Net)()(x)

    run = watched(Outer().init, jax.random.key(0), jnp.ones((2, 3)), watch="z")
    assert not run.values
    run = watched(jax.jit(Outer().init_with_output), jax.random.key(0), jnp.ones((2, 3)), watch="z")
    assert [value.site.watch.dtype for value in run.values.values()] == ["float32"]
