"""Test that values which a called function keeps do not get the name of its result."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

X = jnp.float32(0.7)
SUMS = np.cumsum([np.sin(0.7 * k) for k in range(3)])


class Mean:
    def __init__(self):
        self.total, self.count, self.last = jnp.float32(0), 0, None

    def update(self, v):
        self.total = self.total + v
        self.count += 1
        return self.total / self.count

    def add(self, v):
        self.total = self.total + v
        return self.total

    def added(self, v):
        self.total = self.total + v
        return self

    def value(self):
        return self.total

    def by_method(self, v):
        self.total = self.total + v
        return self.value()

    def by_another_name(self, v):
        self.total = self.total + v
        total = jnp.asarray(self.total)
        return total


def kept(x):
    m = Mean()
    for k in range(3):
        h = m.update(jnp.sin(x * k))
    return h * 2


def kept_nonlocally(x):
    total = jnp.float32(0)

    def update(v):
        nonlocal total
        total = total + v
        return total * 3

    for k in range(3):
        h = update(jnp.sin(x * k))
    return h * 2


def kept_in_what_is_given(x):
    def update(cache, v):
        cache["total"] = cache["total"] + v
        return cache["total"] * 3

    cache = {"total": jnp.float32(0)}
    for k in range(3):
        h = update(cache, jnp.sin(x * k))
    return h * 2


@pytest.mark.behaviour("W1")
@pytest.mark.parametrize(("program", "scale"), [(kept, 1 / 3), (kept_nonlocally, 3), (kept_in_what_is_given, 3)])
def test_a_value_kept_by_the_callee_does_not_get_the_name_of_the_result(program, scale, watched):
    """JAX leaves out the results of the first rounds, because nothing uses them."""
    run = watched(jax.jit(program), X, values=True, watch="h")
    assert list(run.values) == ["h"]
    np.testing.assert_allclose(run["h"]["value"], [SUMS[2] * scale], rtol=1e-5)


@pytest.mark.parametrize("is_tree", [False, True])
def test_a_logged_value_does_not_get_the_name_of_the_returned_one(is_tree, watched):
    def program(x):
        log = []

        def layer(x):
            h = jnp.tanh(x)
            log.append(h * 100)
            return h

        def layer_of_tree(x):
            h = jnp.tanh(x)
            log.append(h * 100)
            return {"h": h, "r": h + 1}

        for _ in range(2):
            if is_tree:
                y = layer_of_tree(x)
                x = y["h"]
            else:
                y = layer(x)
                x = y
        return x * 2, log

    run = watched(jax.jit(program), X, values=True, watch="y*")
    found = [float(value["value"][0]) for value in run.values.values()]
    np.testing.assert_allclose(found, [np.tanh(0.7), np.tanh(np.tanh(0.7))], rtol=1e-5)
    assert {label.split("@")[0] for label in run.values} == {"y['h']" if is_tree else "y"}


def test_the_result_of_a_function_that_returns_its_argument_is_not_its_logged_value(watched):
    def program(x):
        log = []

        def layer(x):
            log.append(jnp.sin(x))
            return x

        y = layer(x)
        return y * 2, log

    run = watched(jax.jit(program), X, values=True, watch="y*")
    assert not list(run.values)


def test_values_appended_to_a_returned_list_have_their_names(watched):
    def program(x):
        def layers(x):
            hs = []
            for _ in range(2):
                x = jnp.tanh(x)
                hs.append(x * 100)
            return hs

        hs = layers(x)
        return hs[0] + hs[1]

    run = watched(jax.jit(program), X, values=True, watch="hs*")
    values = [float(value["value"][0]) for value in run.values.values()]
    np.testing.assert_allclose(values, [100 * np.tanh(0.7), 100 * np.tanh(np.tanh(0.7))], rtol=1e-5)


@pytest.mark.parametrize("how", ["add", "by_method", "by_another_name"])
def test_a_value_that_is_kept_and_returned_has_the_name_of_the_result(how, watched):
    def program(x):
        m = Mean()
        for k in range(3):
            h = getattr(m, how)(jnp.sin(x * k))
        return h * 2

    run = watched(jax.jit(program), X, values=True, watch="h")
    found = [float(value["value"][0]) for value in run.values.values()]
    np.testing.assert_allclose(found, SUMS, rtol=1e-5, atol=1e-6)


def test_a_field_of_a_returned_object_has_its_name(watched):
    def program(x):
        m = Mean()
        h = m.added(jnp.sin(x))
        return h.total * 2

    run = watched(jax.jit(program), X, values=True, watch="h*")
    [value] = [float(one["value"][0]) for one in run.values.values()]
    assert value == pytest.approx(np.sin(0.7))


def test_an_optimiser_that_keeps_its_momentum_gives_the_parameters(watched):
    class Momentum:
        def __init__(self):
            self.velocity = None

        def apply(self, p, g):
            if self.velocity is None:
                self.velocity = jax.tree.map(jnp.zeros_like, p)
            self.velocity = jax.tree.map(lambda v, d: 0.9 * v + d, self.velocity, g)
            return {k: p[k] - 0.1 * self.velocity[k] for k in p}

    def program(p):
        optimiser = Momentum()
        for _ in range(3):
            g = jax.grad(lambda p: jnp.sum(jnp.tanh(p["a"]) ** 2) + jnp.sum(p["b"] ** 2))(p)
            p = optimiser.apply(p, g)
        return p

    p = {"a": jnp.arange(3.0), "b": jnp.ones(3)}
    run = watched(jax.jit(program), p, values=True, watch="p")
    told = [value["value"][0] for label, value in run.values.items() if value.site.watch.role == "value"]
    assert len(told) == 8
    optimiser = Momentum()
    expected = [*p.values()]
    for _ in range(3):
        g = jax.grad(lambda p: jnp.sum(jnp.tanh(p["a"]) ** 2) + jnp.sum(p["b"] ** 2))(p)
        p = optimiser.apply(p, g)
        expected += [*p.values()]
    for one in told:
        assert any(np.allclose(one, other, rtol=1e-5, atol=1e-6) for other in expected)
