"""Test aliases: a name for an existing value, such as `accept = info.acceptance_rate`, is watched by that name."""

from __future__ import annotations

import inspect
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jax_debug_widgets.watch import named_places

X = jnp.arange(3.0)


class Info(NamedTuple):
    rate: jax.Array
    energy: jax.Array


class State(NamedTuple):
    position: dict[str, jax.Array]
    logdensity: jax.Array


def kernel(key, state):
    moved = {"w": state.position["w"] + jax.random.normal(key, X.shape)}
    energy = (moved["w"] ** 2).sum()
    return State(moved, -energy), Info(jnp.exp(-jnp.abs(energy + state.logdensity)), energy)


@jax.jit
def sample(key, w):
    def one_step(state, key):
        before = state.position
        state, info = kernel(key, state)
        accept = info.rate
        return state, (accept, before["w"].sum() + info.energy)

    return lax.scan(one_step, State({"w": w}, -(w**2).sum()), jax.random.split(key, 5))


def test_a_name_for_a_field_of_a_librarys_result_has_the_value_of_the_field(watched):
    run = watched(sample, jax.random.key(0), X, watch="accept,before")
    assert list(run.values) == ["before['w']", "accept"] and not run.status().notes
    state, (accept, _) = run.result
    np.testing.assert_allclose(run["accept"]["value"], accept, rtol=1e-6)
    assert run["accept"].site.source == "accept = info.rate"
    np.testing.assert_allclose(run["before['w']"]["min"][0], 0)
    assert len(run["before['w']"].steps) == 5 and not np.isclose(
        run["before['w']"]["mean"][-1], state.position["w"].mean()
    )


def test_an_alias_and_its_value_are_watched_by_either_name_or_both(watched):
    both = watched(sample, jax.random.key(0), X, watch="info.rate,accept")
    np.testing.assert_array_equal(both["info.rate"]["value"], both["accept"]["value"])
    assert "accept" not in watched(sample, jax.random.key(0), X, watch="info.rate").values


def test_watching_everything_leaves_out_aliases_of_watched_values(watched):
    run = watched(sample, jax.random.key(0), X)
    assert "info.rate" in run and "accept" not in run and not {"before", "before['w']"} & set(run)
    assert "accept" not in watched(sample, jax.random.key(0), X, watch=None, ops=True)
    with pytest.raises(
        KeyError, match=r"'accept' \(line \d+\) is not watched by this name: the same value as info.rate"
    ):
        run["accept"]
    _, places = named_places(__file__, run.watch_seen())
    (place,) = (one for one in places if one.name == "accept" and "the same value" in one.why)
    assert place.pattern(__file__) == "accept"  # The Code view offers this name.


def test_a_condition_may_use_an_alias(watched):
    run = watched(sample, jax.random.key(0), X, watch="info.energy", when="accept < 0.5")
    held = np.asarray(run.result[1][0]) < 0.5
    assert list(run["info.energy"].steps) == np.flatnonzero(held).tolist() and held.sum() > 0


@jax.jit
def careful(x, fast):
    first = x * 2
    early = first
    for other in (first, x):
        in_loop = other
    if x.ndim > 1:
        in_branch = first
        return in_branch
    parts = {"a": first, "b": x + 1}
    kept = parts["a"]
    parts["a"] = x * 7
    changed = parts["a"]
    parts.update(b=x * 9)
    updated = parts["b"]
    first = x * 3
    late = first
    return early + in_loop + kept + changed + updated + late + fast


CAREFUL = inspect.getsource(careful.__wrapped__)


@pytest.mark.parametrize(("name", "times"), [("early", 2), ("late", 3)])
def test_an_alias_has_the_value_assigned_last_before_it(watched, agrees, name, times):
    agrees(watched(careful, X, X, watch=name)[name], X * times)


@pytest.mark.parametrize(
    ("name", "times"), [("in_loop", (1, 2)), ("in_branch", ()), ("changed", (7,)), ("updated", (9,))]
)
def test_an_alias_has_the_value_at_its_statement_and_none_if_that_did_not_run(watched, name, times):
    assert name in CAREFUL
    told = watched(careful, X, X, watch=name).values.values()
    assert sorted(value["max"][0] for value in told) == [float(X.max()) * one for one in times]


def test_the_note_about_an_alias_without_values_says_what_to_watch(watched):
    (note,) = watched(careful, X, X, watch="in_branch").status().notes
    assert note.endswith("has no values: the same value as first; watch that (--watch first).")
    assert "first" in "\n".join(watched(careful, X, X, watch="first").values)


def test_an_alias_has_a_gradient(watched):
    def loss(w):
        hidden = jnp.tanh(w)
        same = hidden
        return (same * hidden).sum()

    run = watched(jax.jit(jax.value_and_grad(loss)), X, watch="same,hidden")
    np.testing.assert_allclose(run["same"]["mean"], run["hidden"]["mean"])
    np.testing.assert_allclose(run["hidden"].gradient["mean"], 2 * run["hidden"]["mean"], rtol=1e-6)
    np.testing.assert_allclose(run["same"].gradient["mean"], 2 * run["hidden"]["mean"], rtol=1e-6)


def test_aliases_of_arguments_and_in_inlined_functions_are_watched(watched, agrees):
    def layer(params, x):
        w = params["w"]
        h = x @ w
        out = h
        return out

    @jax.jit
    def f(params, x):
        kernel_of = params["w"]
        return layer(params, x) + kernel_of.sum()

    w = jnp.arange(6.0).reshape(3, 2)
    run = watched(f, {"w": w}, X, watch="kernel_of,out")
    agrees(run["kernel_of"], w)
    agrees(run["out"], X @ w)


def test_an_alias_of_a_changed_variable_has_its_value_at_that_moment(watched, agrees):
    nnx = pytest.importorskip("flax.nnx")

    class Model(nnx.Module):
        def __init__(self):
            self.mean = nnx.Variable(X)

    def bump(model):
        model.mean[...] = model.mean[...] + 1

    @nnx.jit
    def step(model, x):
        bump(model)
        mean = model.mean
        return mean[...] * x

    run = watched(step, Model(), X, watch="mean,model")
    assert any(name.startswith("model") for name in run.values)
    agrees(run["mean"], X + 1)


def opaque(key, state):
    made = kernel(key, state)
    return tuple(made[:])


def test_a_returned_alias_reports_which_leaf_of_a_result_it_is(watched, agrees):
    """`rate` is returned, which shows that this leaf of the kernel's result is `info.rate`."""

    @jax.jit
    def step(key, state):
        new, info = opaque(key, state)
        rate = info.rate
        return new, rate

    key, state = jax.random.key(0), State({"w": X}, jnp.float32(0))
    run = watched(step, key, state, watch="info,rate")
    for name in ("info.rate", "rate"):
        agrees(run[name], kernel(key, state)[1].rate)


def test_an_alias_that_another_branch_assigns_too_has_the_value_of_the_branch_that_ran(watched, agrees):
    @jax.jit
    def step(key, state):
        new, info = opaque(key, state)
        number = info.rate
        if not state.position:
            number = info.energy
        return new, number

    key, state = jax.random.key(0), State({"w": X}, jnp.float32(0))
    run = watched(step, key, state, watch="info,number")
    _, info = kernel(key, state)
    for name, value in (("info.energy", info.energy), ("info.rate", info.rate), ("number", info.rate)):
        agrees(run[name], value)


def test_an_alias_chosen_by_a_python_condition_has_one_value_each_execution(watched):
    def loss(x):
        total = 0.0
        for i in range(3):
            a, b = jnp.sin(x * (i + 1)), jnp.cos(x * (i + 1))
            best = a if i % 2 else b
            total += (best * (i + 2)).sum()
        return total

    run = watched(jax.jit(jax.value_and_grad(loss)), X, watch="best")
    values = [name for name in run.values if not name.startswith("grad/")]
    assert len(values) == 3 and len(run.values) == 6
    for i, name in enumerate(values):
        best = (jnp.sin if i % 2 else jnp.cos)(X * (i + 1))
        np.testing.assert_allclose(run[name]["mean"], [best.mean()], rtol=1e-5)
        np.testing.assert_allclose(run[name].gradient["mean"], [i + 2])
