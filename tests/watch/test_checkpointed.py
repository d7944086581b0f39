"""Test that the result of a checkpointed function has the caller's name, also if JAX inlines its forward pass."""

from __future__ import annotations

import threading

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.running import reuse_executables
from tests.tapped import tapped

W = jnp.linspace(-1.0, 1.0, 32).reshape(2, 4, 4)
X = jnp.linspace(-2.0, 1.0, 12).reshape(3, 4)

pytestmark = pytest.mark.skipif(
    versions.TRACEBACKS_LEAVE_THEIR_PROGRAM, reason="JAX 0.8 has one caller for all calls of a checkpointed function"
)


def block(x, w):
    u = x @ w
    return jnp.sin(u) * 2


def layers(w, x):
    for i in range(2):
        h = jax.checkpoint(block)(x, w[i])
        x = jnp.tanh(h)
    return (x**2).sum()


def of_one(w, x):
    h = jax.checkpoint(block)(x, w[0])
    return (h**2).sum()


PROGRAMS = {
    "jit": lambda f: jax.jit(jax.value_and_grad(f)),
    "grad of jit": lambda f: jax.value_and_grad(jax.jit(f)),
    "vmap": lambda f: jax.jit(jax.vmap(jax.value_and_grad(f), (None, 0))),
    "scan": lambda f: jax.jit(
        jax.value_and_grad(lambda w, x: lax.scan(lambda c, t: (c + f(w, x * t), None), 0.0, jnp.ones(3))[0])
    ),
    "checkpoint": lambda f: jax.jit(jax.value_and_grad(jax.checkpoint(f))),
}


@pytest.mark.behaviour("W1")
@pytest.mark.parametrize("around", PROGRAMS)
def test_each_checkpointed_call_in_a_python_loop_has_its_value_and_gradient(around, watched, agrees):
    x = jnp.stack([X, X * 0.3]) if around == "vmap" else X
    run = watched(PROGRAMS[around](layers), W, x)
    first = 2 * jnp.sin(x @ W[0])
    second = 2 * jnp.sin(jnp.tanh(first) @ W[1])
    forward = [value for name, value in run.values.items() if name.startswith("h@") and value.site.phase == "forward"]
    for value, expected in zip(forward, (first, second), strict=True):
        agrees(value, expected)
        assert value.site.function == "layers"
    gradients = [value for name, value in run.values.items() if name.startswith("grad/h@")]
    agrees(gradients[-1], jax.grad(lambda h: (jnp.tanh(h) ** 2).sum())(second))
    assert len(gradients) == len(forward)


@pytest.mark.behaviour("W1")
def test_two_calls_of_a_checkpointed_function_have_their_own_values_and_gradients(watched, agrees):
    def loss(w, x):
        a = jax.checkpoint(block)(x, w[0])
        b = jax.checkpoint(block)(a, w[1])
        return (a * b).sum()

    run = watched(jax.jit(jax.value_and_grad(loss)), W, X)
    agrees(run["a"], block(X, W[0]))
    agrees(run["b"], block(block(X, W[0]), W[1]))
    agrees(run["grad/b"], block(X, W[0]))


def test_the_parts_of_a_tuple_and_of_a_checkpoint_in_another(watched, agrees):
    def pair(x, w):
        inner = jax.checkpoint(block)(x, w)
        return inner, inner * 3

    def loss(w, x):
        left, right = jax.checkpoint(pair)(x, w[0])
        return (left * right).sum()

    run = watched(jax.jit(jax.value_and_grad(loss)), W, X)
    agrees(run["left"], block(X, W[0]))
    agrees(run["right"], block(X, W[0]) * 3)


def test_the_result_of_filter_checkpoint_has_the_callers_name(watched, agrees):
    def loss(w, x):
        h = eqx.filter_checkpoint(block)(x, w[0])
        return (h**2).sum()

    run = watched(jax.jit(jax.value_and_grad(loss)), W, X)
    agrees(run["h"], block(X, W[0]))


@pytest.mark.parametrize("outer", [jax.grad, lambda f: jax.jit(jax.grad(f))], ids=["un-jitted", "jit"])
def test_a_print_in_a_checkpointed_function_has_the_line_of_its_caller(outer):
    def said(x):
        jax.debug.print("x = {}", x)
        return jnp.sin(x)

    def loss(x):
        first = jax.checkpoint(said)(x)
        return jax.checkpoint(said)(first)

    with jdw.capture() as run:
        outer(loss)(0.5)
    begin = loss.__code__.co_firstlineno
    texts = {"x = 0.5": begin + 1, f"x = {jnp.sin(0.5)}": begin + 2}
    assert {(event.phase, event.text, event.site.callers[0]) for event in run.events} == {
        (phase, text, f"test_checkpointed.py:{line}")
        for phase in ("forward", "recompute")
        for text, line in texts.items()
    }


def test_a_capture_leaves_the_compiled_text_of_a_checkpointed_program_unchanged(monkeypatch):
    # If a breakpoint of ours was left out of a program, a capture compiles everything again.
    monkeypatch.setattr(reuse_executables, "_left_out", threading.Event())
    program = jax.jit(jax.grad(of_one))
    plain = program.lower(W, X).compile().as_text()
    with jdw.capture():
        assert tapped(program.lower(W, X)).compile().as_text() == plain


def _layer_of_loop(w, x):
    h = jnp.tanh(x @ w)
    return h


def _loss_of_layers(ws, x):
    for w in ws:
        x = jax.checkpoint(_layer_of_loop)(w, x)
    return jnp.sum(x**2)


def _loss_of_layers_made_once(ws, x):
    layer = jax.checkpoint(_layer_of_loop)
    for w in ws:
        x = layer(w, x)
    return jnp.sum(x**2)


@pytest.mark.behaviour("W2")
@pytest.mark.parametrize("loss", [_loss_of_layers, _loss_of_layers_made_once])
@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.each
def test_the_numbers_of_the_gradients_of_layers_are_those_of_their_values(loss, rounds, watched):
    ws = [jax.random.normal(jax.random.key(number), (3, 3)) * 0.7 for number in range(3)]
    x = jax.random.normal(jax.random.key(9), (2, 3))

    def train(ws, x):
        for _ in range(rounds):
            ws = jax.tree.map(lambda w, g: w - 0.1 * g, ws, jax.grad(loss)(ws, x))
        return ws

    run = watched(jax.jit(train), ws, x, watch="h", values=True)
    expected = []
    for _ in range(rounds):
        h, hs = x, []
        for w in ws:
            h = jnp.tanh(h @ w)
            hs.append(h)
        for number, h in enumerate(hs):

            def rest(h, after=ws[number + 1 :]):
                for w in after:
                    h = jnp.tanh(h @ w)
                return jnp.sum(h**2)

            expected.append((h, jax.grad(rest)(h)))
        ws = jax.tree.map(lambda w, g: w - 0.1 * g, ws, jax.grad(loss)(ws, x))
    numbered = {label.partition("#")[::2]: value for label, value in run.values.items()}
    for number, (h, gradient) in enumerate(expected, 1):
        value = next(
            one for (label, own), one in numbered.items() if own == str(number) and not label.startswith("grad")
        )
        np.testing.assert_allclose(value["value"][0], h, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(value.gradient["value"][0], gradient, rtol=1e-3, atol=1e-5)
        own = next(one for (label, own), one in numbered.items() if own == str(number) and label.startswith("grad"))
        np.testing.assert_allclose(own["value"][0], gradient, rtol=1e-3, atol=1e-5)


def _sine_layer(w, x):
    h = jnp.sin(x)
    u = jnp.tanh(w * h)
    return x + u


def _loss_of_sine_layers(ws, x):
    for w in ws:
        x = jax.checkpoint(_sine_layer)(w, x)
    return x**2


@pytest.mark.behaviour("W2")
@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0,), (1,), (2, 0, 1)])
def test_the_numbers_of_gradients_are_those_of_their_program_and_layer(order, watched):
    """Several programs differentiate one network; in its first layer `h` has no gradient."""

    def train(ws, x):
        return [w - g for w, g in zip(ws, jax.value_and_grad(_loss_of_sine_layers)(ws, x)[1], strict=True)]

    def norm(ws, x):
        return sum(abs(g) for g in jax.grad(_loss_of_sine_layers)(ws, x))

    programs = [jax.jit(train), jax.jit(norm), jax.jit(jax.value_and_grad(_loss_of_sine_layers))]
    ws, points = [jnp.float32(w) for w in (0.7, -0.4, 0.9)], (0.3, 0.8, -0.5)

    def with_zeros(zeros, x):
        hs, us = [], []
        for w, (a, b) in zip(ws, zeros, strict=True):
            hs.append(jnp.sin(x) + a)
            us.append(jnp.tanh(w * hs[-1]) + b)
            x = x + us[-1]
        return x**2, (hs, us)

    expected = []
    for number in order:
        (_, values), slopes = jax.value_and_grad(with_zeros, has_aux=True)([(0.0, 0.0)] * 3, points[number])
        expected += [("h", float(h), float(a)) for h, (a, _) in zip(values[0], slopes, strict=True)]
        expected += [("u", float(u), float(b)) for u, (_, b) in zip(values[1], slopes, strict=True)]
    run = watched(lambda: [programs[number](ws, points[number]) for number in order], watch="h,u")
    gradients = [label for label in run.values if label.startswith("grad/")]
    told = 0
    for label in gradients:
        value = run[label.removeprefix("grad/")]
        assert value.gradient.site == run[label].site
        for step, one in enumerate(value["value"]):
            wanted = [slope for name, number, slope in expected if name == label[5] and abs(number - one) < 1e-5]
            np.testing.assert_allclose(run[label]["value"][step], wanted[0], rtol=1e-4)
            told += 1
    assert told == 5 * len(order), "all but `h` of the first layer"


@pytest.mark.behaviour("W2")
@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("in_scan", [False, True])
def test_layers_that_are_checkpointed_alternately_have_their_own_gradients(count, in_scan, watched):
    def net(ws, x):
        for number, w in enumerate(ws):
            layer = jax.checkpoint(_layer_of_loop) if number % 2 else _layer_of_loop
            x = layer(w, x)
        return jnp.sum(x**2)

    ws = [jax.random.normal(jax.random.key(number), (3, 3)) * 0.7 for number in range(count)]
    x = jax.random.normal(jax.random.key(9), (2, 3))

    def scanned(ws, x):
        return lax.scan(
            lambda ws, _: (jax.tree.map(lambda w, g: w - 0 * g, ws, jax.grad(net)(ws, x)), None), ws, length=1
        )

    run = watched(jax.jit(scanned if in_scan else jax.value_and_grad(net)), ws, x, watch="h", values=True)
    hs, h = [], x
    for w in ws:
        h = jnp.tanh(h @ w)
        hs.append(h)

    def rest(h, ws):
        for w in ws:
            h = jnp.tanh(h @ w)
        return jnp.sum(h**2)

    slopes = [jax.grad(rest)(h, ws[number + 1 :]) for number, h in enumerate(hs)]
    forward = [one for label, one in run.values.items() if label.startswith("h@") and one.site.phase == "forward"]
    assert len(forward) == count
    for value in forward:
        number = next(n for n, h in enumerate(hs) if np.allclose(value["value"][0], h, rtol=1e-4))
        np.testing.assert_allclose(value.gradient["value"][0], slopes[number], rtol=1e-3, atol=1e-5)


def test_a_loop_in_a_checkpointed_function_has_gradients(watched, whole):
    def step(x, _):
        a = jnp.sin(x)
        y = x + 0.1 * a
        return y, None

    def chunk(x):
        x, _ = lax.scan(step, x, length=2)
        return x

    def loss(x, of):
        return (of(chunk)(x) ** 2).sum()

    start = jnp.linspace(0.3, 1.0, 3)
    program = jax.jit(jax.value_and_grad(loss), static_argnums=1)
    plain, checkpointed = (watched(program, start, of, values=True) for of in (lambda f: f, jax.checkpoint))
    for name in ("grad/a", "grad/y"):
        expected = whole(plain, name)
        assert len(expected) == 2
        np.testing.assert_allclose(whole(checkpointed, name), expected, rtol=1e-6)


def halves(x):
    inner = jnp.sin(x)
    total = (inner**2).sum()
    return inner, total


@jax.checkpoint
def layer_with_a_helper(x):
    a, b = halves(x)
    out = jnp.cos(a)
    return out, b


@pytest.mark.parametrize("count", [1, 2, 3])
def test_results_of_a_helper_in_checkpointed_calls_are_numbered_by_call(count, watched):
    def loss(x):
        aux = 0.0
        for number in range(count):
            x, extra = layer_with_a_helper(x)
            aux += extra * (number + 1)
        return x.sum() + aux

    run = watched(jax.jit(jax.value_and_grad(loss)), X, watch="b")
    values = [name for name in run.values if not name.startswith("grad/")]
    assert len(values) == count
    x = X
    for number, name in enumerate(values):
        x, b = layer_with_a_helper(x)
        np.testing.assert_allclose(run[name]["value"], [b], rtol=1e-5)
        np.testing.assert_allclose(run[name].gradient["value"], [number + 1])
