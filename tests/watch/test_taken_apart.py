"""Test variables that Python unpacks from an array or a list: `mu, log_var = w @ x`, `for w, b in layers`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw

X = jnp.array([0.5, 1.25, 2.0])
W = jnp.arange(6.0).reshape(2, 3) / 3


def of_product(x):
    mu, log_var = W @ x
    return mu * jnp.exp(log_var)


def of_call(x):
    def net(x):
        return jnp.tanh(W @ x)

    mu, log_var = net(x)
    return mu * jnp.exp(log_var)


def of_slice(x):
    mu, log_var = x[:2] * 2
    return mu * jnp.exp(log_var)


def of_stack(x):
    [mu, log_var] = jnp.stack([x.sum(), x.prod()])
    return mu * jnp.exp(log_var)


def of_gradient(x):
    mu, log_var, _ = jax.grad(lambda x: (x**3).sum())(x)
    return mu * jnp.exp(log_var)


def nested(x):
    (mu, log_var), scale = jnp.tanh(W @ x), x.sum()
    return mu * jnp.exp(log_var) * scale


def in_scan(x):
    def step(carry, row):
        mu, log_var = W @ (x * row)
        return carry + mu * jnp.exp(log_var), None

    return jax.lax.scan(step, 0.0, x)[0]


def expected(program):
    """Return the two variables in each execution, as NumPy computes them."""
    x, w = np.asarray(X), np.asarray(W)
    match program.__name__:
        case "of_product":
            return [w @ x]
        case "of_call" | "nested":
            return [np.tanh(w @ x)]
        case "of_slice":
            return [x[:2] * 2]
        case "of_stack":
            return [np.array([x.sum(), x.prod()])]
        case "of_gradient":
            return [(3 * x**2)[:2]]
        case _:
            return [w @ (x * row) for row in x]


@pytest.mark.behaviour("W1")
@pytest.mark.parametrize("differentiated", [False, True])
@pytest.mark.parametrize("program", [of_product, of_call, of_slice, of_stack, of_gradient, nested, in_scan])
@pytest.mark.each
def test_names_that_an_array_is_unpacked_into_have_values_and_gradients(watched, program, differentiated):
    run = watched(jax.jit(jax.grad(program) if differentiated else program), X, watch=True)
    values = np.array(expected(program))
    np.testing.assert_allclose(run["mu"]["value"], values[:, 0], rtol=2e-5)
    np.testing.assert_allclose(run["log_var"]["value"], values[:, 1], rtol=2e-5)
    if differentiated:  # d(mu exp(log_var)) / d(mu)
        scale = float(X.sum()) if program is nested else 1.0
        np.testing.assert_allclose(run["grad/mu"]["value"], np.exp(values[:, 1]) * scale, rtol=2e-5)


def test_the_rest_of_an_array_is_a_list_of_its_items(watched, agrees):
    def f(x):
        first, *rest = x * 2
        return first + rest[0] * rest[1]

    run = watched(jax.jit(f), X, watch="first,rest")
    agrees(run["first"], 1.0)
    agrees(run["rest[0]"], 2.5)
    agrees(run["rest[1]"], 4.0)


def through_array(x):
    total = 0.0
    for item in x * 2:
        total = total + item**2
    return total


def through_zip(x):
    total = 0.0
    for item, other in zip(x * 2, x * 3, strict=True):
        total = total + item * other
    return total


def in_one_line(x):
    total = 0.0
    for item in x * 2:
        total = total + item**2
    return total


def that_is_assigned_anew(x):
    total = 0.0
    for item in x * 2:
        total = total + item**2
        item = total  # noqa: PLW2901 - not what the `for` has given it
    return total


def through_enumerate(x):
    total = 0.0
    for i, item in enumerate(jnp.stack([x * 2])[0]):
        total = total + item**2 * i
    return total


@pytest.mark.behaviour("W1")
@pytest.mark.parametrize("differentiated", [False, True])
@pytest.mark.parametrize("program", [through_array, through_zip, in_one_line, that_is_assigned_anew, through_enumerate])
@pytest.mark.each
def test_items_of_a_python_loop_have_values_and_gradients(watched, program, differentiated):
    run = watched(jax.jit(jax.grad(program) if differentiated else program), X, watch="item,other")
    line = program.__code__.co_firstlineno + 2
    values = [run[f"item@test_taken_apart.py:{line}#{n}"]["value"] for n in (1, 2, 3)]
    np.testing.assert_allclose(np.ravel(values), np.asarray(X) * 2, rtol=1e-6)
    if program is through_zip:
        values = [run[f"other@test_taken_apart.py:{line}#{n}"]["value"] for n in (1, 2, 3)]
        np.testing.assert_allclose(np.ravel(values), np.asarray(X) * 3, rtol=1e-6)
    if differentiated and program is through_array:
        gradients = [run[f"grad/item@test_taken_apart.py:{line}#{n}"]["value"] for n in (1, 2, 3)]
        np.testing.assert_allclose(np.ravel(gradients), np.asarray(X) * 4, rtol=1e-6)


def layers_of(x):
    h = x
    layers = [(x * 2, x + 1), (x * 3, x - 1)]
    for w, b in layers:
        h = jnp.tanh(h * w + b)
    last = layers[-1]
    return h.sum() + last[0].sum()


def test_a_loop_through_a_list_only_names_what_is_there(watched):
    run = watched(jax.jit(layers_of), X, watch=True)
    assert "layers[0][0]" in run.values
    assert not [name for name in run.values if name.startswith(("w@", "b@", "last"))]
    with pytest.raises(KeyError, match="not watched"):
        run["w"]
    run = watched(jax.jit(layers_of), X, watch="w,b,last", values=True)
    line = layers_of.__code__.co_firstlineno + 3
    for name, values in {"w": (X * 2, X * 3), "b": (X + 1, X - 1)}.items():
        for n, value in enumerate(values, 1):
            np.testing.assert_allclose(run[f"{name}@test_taken_apart.py:{line}#{n}"]["value"][0], value, rtol=1e-6)
    np.testing.assert_allclose(run["last[0]"]["value"][0], X * 3, rtol=1e-6)


def test_parameters_that_a_loop_goes_through_keep_their_own_names(watched, agrees):
    def f(parameters):
        total = 0.0
        for w, b in parameters:
            total = total + (w * b).sum()
        return total

    run = watched(jax.jit(f), [(X, X + 1), (X * 2, X)], watch=True)
    agrees(run["parameters[0][1]"], X + 1)
    agrees(run["parameters[1][0]"], X * 2)


def test_a_loop_that_never_runs_names_nothing():
    @jax.jit
    def f(x):
        item = x * 2
        for item in ():  # noqa: B007 - what it was before stays
            pass
        return item.sum()

    with jdw.capture(watch="item", values=True) as run:
        f(X)
    assert list(run.values) == ["item"]
    np.testing.assert_allclose(run["item"]["value"][0], X * 2)
