"""Test names that only Python's variables show while a function is traced, because the program does not."""

from __future__ import annotations

import bdb
import sys
import threading
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.origins import name_registry as books
from jax_debug_widgets._jax.origins.name_registry import book

X = jnp.linspace(0.1, 1.0, 4)
PARAMS = {"w": X, "b": X * 2, "c": X * 3}


class Pair(NamedTuple):
    a: jax.Array
    b: jax.Array


def exchanged_items(x):
    d = {"a": jnp.sin(x), "b": jnp.cos(x)}
    d["a"], d["b"] = d["b"], d["a"]
    return d


def exchanged_fields(x):
    s = Pair(jnp.sin(x), jnp.cos(x))
    return s._replace(a=s.b, b=s.a)._asdict()


def put_together(x):
    found = {}
    for name, function in (("b", jnp.sin), ("a", jnp.cos)):
        found[name] = function(x)
    return found


@pytest.mark.behaviour("W1")
@pytest.mark.parametrize("differentiated", [False, True])
@pytest.mark.parametrize("helper", [exchanged_items, exchanged_fields, put_together])
def test_items_that_a_helper_exchanges_or_combines_have_their_names(watched, agrees, helper, differentiated):
    def loss(x):
        given = helper(x)
        return (given["a"] ** 2 + given["b"]).sum()

    run = watched(jax.jit(jax.value_and_grad(loss) if differentiated else loss), X)
    agrees(run["given['a']"], jnp.cos(X))
    agrees(run["given['b']"], jnp.sin(X))


def test_momentum_by_keys_that_somebody_has_written(watched, agrees):
    def loss(p):
        return (p["c"] * jnp.sin(p["w"]) + p["b"] ** 2).sum()

    @jax.jit
    def step(p, m):
        g = jax.grad(loss)(p)
        for k in ("w", "c", "b"):
            m[k] = 0.9 * m[k] + g[k]
        p = {k: p[k] - 0.1 * m[k] for k in ("b", "w", "c")}
        return p, m

    run = watched(step, PARAMS, jax.tree.map(jnp.ones_like, PARAMS))
    for key, gradient in jax.grad(loss)(PARAMS).items():
        agrees(run[f"g['{key}']"], gradient)
        agrees(run[f"grad/p['{key}']"], gradient)
        moved = PARAMS[key] - 0.1 * (0.9 + gradient)
        _, told = (value for name, value in run.values.items() if name.startswith(f"p['{key}']"))
        agrees(told, moved)


def test_named_tuples_that_come_back_from_a_map(watched, agrees):
    def both(x):
        return Pair(jnp.sin(x), jnp.cos(x).sum())

    @jax.jit
    def f(x):
        mapped = jax.vmap(both)(x)
        turned = jax.tree.map(lambda leaf: leaf * 2, mapped)
        return turned.b.sum() + mapped.a.sum()

    x = X.reshape(2, 2)
    run = watched(f, x)
    agrees(run["mapped.a"], jnp.sin(x))
    agrees(run["mapped.b"], jnp.cos(x).sum(1))
    agrees(run["turned.b"], 2 * jnp.cos(x).sum(1))


class Plain:
    """An object that is no pytree."""

    def __init__(self, params):
        self.params = jax.tree.map(jnp.sin, params)
        self.scale = jnp.cos(params["w"])


def test_fields_of_an_object_that_is_no_tree(watched, agrees):
    @jax.jit
    def f(params):
        model = Plain(params)
        scale = model.scale
        return (model.params["b"] * scale).sum()

    run = watched(f, PARAMS, watch="model.*,self.*,scale")
    agrees(run["model.params['b']"], jnp.sin(PARAMS["b"]))
    agrees(run["self.params['b']"], jnp.sin(PARAMS["b"]))
    agrees(run["scale"], jnp.cos(PARAMS["w"]))


@jax.tree_util.register_dataclass
@dataclass
class State:
    pos: jax.Array
    pairs: tuple


def test_the_carry_of_a_differentiated_loop_has_its_paths(watched, agrees):
    """JAX reorders the carry, and moves parts out of the loop."""

    def loss(w):
        def step(state, t):
            u, v = state.pairs
            pos = jnp.hypot(state.pos, u) * w
            state = State(pos, (v, u * t))
            return state, pos

        last, _ = lax.scan(step, State(X, (X * 2, X * 3)), jnp.arange(1.0, 4.0))
        return last.pos.sum()

    run = watched(jax.jit(jax.value_and_grad(loss)), X, watch="state.pos,u,v,pos,last")
    u, v = X * 2, X * 3
    for step in range(3):
        agrees(run["u"], u, step)
        u, v = v, u * (step + 1.0)


def test_values_of_two_branches_of_a_function_that_python_chooses_from(watched, agrees):
    def layer(x, kind):
        match kind:
            case "sine":
                h = jnp.sin(x)
            case _:
                h = jnp.cos(x)
        return h

    @jax.jit
    def f(x):
        first = layer(x, "sine")
        second = layer(first, "cosine")
        return first, second

    run = watched(f, X)
    agrees(run["first"], jnp.sin(X))
    agrees(run["second"], jnp.cos(jnp.sin(X)))


def test_a_function_that_fails_leaves_no_tracing_behind():
    @jax.jit
    def failing(x):
        y = x * 2
        raise ValueError(str(y.shape))

    with pytest.raises(ValueError, match=r"\(4,\)"), jdw.capture(watch=True):
        failing(X)
    assert sys.gettrace() is None


def test_a_debugger_that_begins_in_a_traced_function_stays(watched):
    class Debugger(bdb.Bdb):
        lines = 0

        def user_line(self, frame):
            self.lines += frame.f_code.co_name == "f"
            self.set_step()

    debugger = Debugger()

    @jax.jit
    def f(x):
        y = x * 2
        debugger.set_trace()
        z = y + 1
        debugger.set_quit()
        return z

    watched(f, X)
    assert debugger.lines == 2  # Our functions are not called for these lines.
    assert sys.gettrace() is None


def test_threads_that_trace_at_once():
    def f(x, factor):
        h = x * factor
        g = jnp.sin(h)
        return g

    with jdw.capture(watch="h,g") as run:
        threads = [threading.Thread(target=lambda n=n: jax.jit(f)(X, float(n))) for n in range(1, 5)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    jax.effects_barrier()
    means = sorted(event.values[2] for event in run.events if event.site.watch.name == "h")
    np.testing.assert_allclose(means, [float(X.mean()) * n for n in range(1, 5)], rtol=1e-6)


def test_the_memory_of_variables_is_bounded(watched, agrees, monkeypatch):
    monkeypatch.setattr(books, "_MOST", 50)

    def f(x):
        for number in range(60):
            x = jnp.sin(x) + number
        return x

    watched(jax.jit(f), X, watch="x")
    assert max(map(len, (book._of_variables, book._of_origins, book._traced))) <= 50
    agrees(watched(jax.jit(twice), X, watch="t")["t"], X * 2)


def twice(x):
    t = x * 2
    return t


def test_values_that_a_loop_closes_over_are_not_its_arguments(watched, whole):
    """From one subtraction `vmap` makes operations of the same kind for both operands."""
    points = jnp.arange(10.0).reshape(5, 2)

    def log_density(x, mean, scale):
        z = (x - mean) / scale
        return -0.5 * (z**2).sum()

    @jax.jit
    def fit(params):
        def expect(params, points):
            means, scales = params
            joint = jax.vmap(lambda x: jax.vmap(log_density, (None, 0, 0))(x, means, scales))(points)
            return jax.nn.softmax(joint, 1)

        def body(state):
            params, count = state
            weights = expect(params, points)
            means = weights.T @ points / weights.sum(0)[:, None]
            return (means, params[1]), count + 1

        return lax.while_loop(lambda state: state[1] < 2, body, (params, 0))

    run = watched(
        fit, (jnp.ones((3, 2)) * jnp.arange(3.0)[:, None], jnp.ones((3, 2))), values=True, watch="params,means"
    )
    told = [value for name in ("params[0]", "params[1]", "means") for value in whole(run, name)]
    assert len(told) > 2
    assert {value.shape for value in told} == {(3, 2)}
