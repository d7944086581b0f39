"""Test that each item of a list comprehension has its gradient, as a separately assigned value has."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

X = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
WS = [*np.random.default_rng(1).normal(size=(3, 3, 3)).astype(np.float32)]


def layer(x, w):
    h = x @ w
    return jnp.tanh(h) + x


def recurrent(x, w):
    return lax.scan(lambda c, _: (jnp.tanh(c @ w), None), x, None, length=2)[0]


def deep(x, w):
    for _ in range(2):
        x = jnp.tanh(x @ w)
    return x


def of_list(x, ws):
    hs = [jnp.tanh(x @ w) for w in ws]
    return mixed(hs)


def of_tuple(x, ws):
    hs = tuple(x @ w for w in ws)
    return mixed(hs)


def of_calls(x, ws):
    hs = [layer(x, w) for w in ws]
    return mixed(hs)


def of_jitted_calls(x, ws):
    hs = [jax.jit(layer)(x, w) for w in ws]
    return mixed(hs)


def of_loops(x, ws):
    hs = [recurrent(x, w) for w in ws]
    return mixed(hs)


def of_loops_of_python(x, ws):
    hs = [deep(x, w) for w in ws]
    return mixed(hs)


def of_softmax(x, ws):
    hs = [jax.nn.softmax(x @ w) for w in ws]
    return mixed(hs)


def mixed(hs):
    return ((hs[0] * hs[1] + jnp.sin(hs[2])) ** 2).mean()


ITEMS = {
    of_list: lambda x, w: jnp.tanh(x @ w),
    of_tuple: lambda x, w: x @ w,
    of_calls: layer,
    of_jitted_calls: layer,
    of_loops: recurrent,
    of_loops_of_python: deep,
    of_softmax: lambda x, w: jax.nn.softmax(x @ w),
}


@pytest.mark.behaviour("W4")
@pytest.mark.parametrize("loss", ITEMS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("argument", [0, 1])
@pytest.mark.each
def test_each_item_of_a_comprehension_has_its_value_and_gradient(loss, argument, watched, agrees):
    run = watched(jax.jit(jax.value_and_grad(loss, argument)), X, WS)
    items = [ITEMS[loss](X, w) for w in WS]
    for number, (item, gradient) in enumerate(zip(items, jax.grad(mixed)(items), strict=True)):
        agrees(run[f"hs[{number}]"], item)
        agrees(run[f"grad/hs[{number}]"], gradient)


def test_the_items_of_a_dictionary(watched, agrees):
    def loss(ws, x):
        hs = {key: jnp.tanh(x @ w) for key, w in zip("abc", ws, strict=True)}
        return ((hs["a"] * hs["b"] + jnp.sin(hs["c"])) ** 2).mean()

    run = watched(jax.jit(jax.value_and_grad(loss)), WS, X)
    items = [jnp.tanh(X @ w) for w in WS]
    for key, gradient in zip("abc", jax.grad(mixed)(items), strict=True):
        agrees(run[f"grad/hs['{key}']"], gradient)


def test_an_unused_item_of_a_comprehension_has_no_gradient(watched, agrees):
    def loss(ws, x):
        hs = [jnp.tanh(x @ w) for w in ws]
        return (hs[0] * hs[2]).std()

    run = watched(jax.jit(jax.value_and_grad(loss)), WS, X)
    first, _, last = (jnp.tanh(X @ w) for w in WS)
    of_first, of_last = jax.grad(lambda a, b: (a * b).std(), (0, 1))(first, last)
    agrees(run["grad/hs[0]"], of_first)
    agrees(run["grad/hs[2]"], of_last)
    assert "grad/hs[1]" not in run.values


def test_items_of_a_comprehension_have_gradients_if_another_item_has_none(watched, agrees):
    def loss(ws, x):
        hs = [jnp.tanh(x @ w) for w in ws]
        return (hs[0] * lax.stop_gradient(hs[1]) * hs[2]).std()

    run = watched(jax.jit(jax.value_and_grad(loss)), WS, X)
    assert {"hs[0]", "hs[1]", "hs[2]"} <= {*run.values}
    first, _, last = (jnp.tanh(X @ w) for w in WS)
    middle = jnp.tanh(X @ WS[1])
    of_first, of_last = jax.grad(lambda first, last: (first * middle * last).std(), (0, 1))(first, last)
    agrees(run["grad/hs[0]"], of_first)
    agrees(run["grad/hs[2]"], of_last)
    assert "grad/hs[1]" not in run.values


def test_items_of_a_comprehension_in_a_python_loop_have_values_and_gradients_each_round(watched, agrees):
    def loss(ws, x):
        for _ in range(2):
            hs = [jnp.tanh(x @ w) for w in ws]
            x = hs[0] * hs[1] + hs[2]
        return x.std()

    def rest(hs, ws, rounds):
        x = hs[0] * hs[1] + hs[2]
        for _ in range(rounds):
            own = [jnp.tanh(x @ w) for w in ws]
            x = own[0] * own[1] + own[2]
        return x.std()

    run = watched(jax.jit(jax.value_and_grad(loss)), WS, X)
    x = X
    for number in range(2):
        hs = [jnp.tanh(x @ w) for w in WS]
        for item, gradient in enumerate(jax.grad(rest)(hs, WS, 1 - number)):
            starts, ends = f"grad/hs[{item}]@", f"#{number + 1}"
            (label,) = (one for one in run.values if one.startswith(starts) and one.endswith(ends))
            agrees(run[label], gradient)
        x = hs[0] * hs[1] + hs[2]
