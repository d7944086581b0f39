"""Test names that are added in the Code view: later runs watch them, too."""

from __future__ import annotations

import blackjax
import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.panel.requests import answer


def model(x):
    h = jnp.sin(x)
    _private = h * 2
    exp = jnp.exp(_private)
    return exp @ x


@pytest.fixture(autouse=True)
def forgotten():
    """Remove the names that a test has added."""
    yield
    for pattern in list(current_session().added):
        current_session().added.discard(pattern)


def asked(run, **request):  # noqa: ANN003 - a request's fields
    content = next(iter(answer(current_session(), {"run": run.key, "id": 3, **request})))[0]
    assert content["type"] != "error", content
    return content


def offered(run) -> dict[str, str]:
    """Return each name of `model` without a value, with the pattern that watches it."""
    lines = range(model.__code__.co_firstlineno, model.__code__.co_firstlineno + 5)
    names = asked(run, type="source", file=__file__)["names"]
    return {one["name"]: one["pattern"] for one in names if one["line"] in lines and one["why"]}


def switch(run, *names: str, on: bool) -> None:
    asked(run, type="watch", names=list(names), on=on)


def again(watch):
    """Run the same function in a new capture, as a cell that runs again does."""
    with jdw.capture(watch=watch) as run:
        jax.block_until_ready(jax.jit(model)(jnp.arange(3.0)))
    return run


def test_a_name_is_watched_from_the_next_run_on_until_it_is_taken_back():
    run = again("h")
    assert offered(run) == {"x": "x", "_private": "_private", "exp": "exp", "exp @ x": "exp @ x"}
    switch(run, "exp", "exp @ x", on=True)
    assert run.status().added == ("exp", "exp @ x")
    assert list(run.values) == ["h"]

    run = again("h")
    assert list(run.values) == ["h", "exp", "exp @ x"]
    assert offered(run) == {"x": "x", "_private": "_private"}

    # A name that is removed has no events at once, and is not in the next program.
    switch(run, "exp", on=False)
    assert run.status().added == ("exp @ x",)
    run = again("h")
    assert list(run.values) == ["h", "exp @ x"]

    # A name that is added again has events again.
    switch(run, "exp", on=True)
    assert list(again("h").values) == ["h", "exp", "exp @ x"]


def test_an_added_name_may_be_private_or_watched_already():
    run = again(True)
    assert offered(run) == {"_private": "_private"}
    switch(run, "_private", on=True)
    assert "_private" in again(True).values
    assert list(again("_private").values) == ["_private"]


def test_runs_that_watch_nothing_or_lack_the_name_are_left_as_they_are():
    switch(again("h"), "exp", on=True)
    with jdw.capture() as run:
        jax.jit(model)(jnp.arange(3.0))
    assert not run.values

    def other(x):
        h = jnp.exp(x)  # The primitive has the same name as the variable.
        return h + 1

    with jdw.capture(watch="h") as run:
        jax.jit(lambda x: other(x) + jnp.exp(x * 2))(jnp.arange(3.0))
    assert list(run.values) == ["h"]
    assert run.status().notes == ()


def test_the_leaves_of_a_tree_are_offered_one_by_one_arguments_too():
    def loss(params, x):
        h = x @ params["w"] + params["b"]
        return (h**2).sum()

    def step(params, x):
        grads = jax.grad(loss)(params, x)
        return jax.tree.map(lambda p, g: p - g, params, grads)

    def run_it():
        with jdw.capture(watch="h") as run:
            jax.block_until_ready(jax.jit(step)({"w": jnp.ones((3, 2)), "b": jnp.ones(2)}, jnp.ones(3)))
        line = step.__code__.co_firstlineno
        names = asked(run, type="source", file=__file__)["names"]
        return run, {one["name"]: one["root"] for one in names if one["line"] in (line, line + 1) and one["pattern"]}

    run, names = run_it()
    leaves = {"params['b']": "params", "params['w']": "params", "grads['b']": "grads", "grads['w']": "grads"}
    assert names == {"params": "", "x": "", "grads": "", **leaves}
    switch(run, "grads['w']", on=True)
    run, names = run_it()
    assert list(run.values) == ["h", "grads['w']", "grad/h"]
    assert names == {"params": "", "x": "", **{name: root for name, root in leaves.items() if name != "grads['w']"}}


def test_a_name_may_stand_beside_one_that_is_watched():
    def both(x):
        low, high = jnp.sin(x), jnp.cos(x)
        return low @ high

    def run_it():
        with jdw.capture(watch="low") as run:
            jax.block_until_ready(jax.jit(both)(jnp.arange(3.0)))
        return run

    run, line = run_it(), both.__code__.co_firstlineno + 1
    names = asked(run, type="source", file=__file__)["names"]
    assert {one["name"]: one["pattern"] for one in names if one["line"] == line} == {"low": "", "high": "high"}
    switch(run, "high", on=True)
    assert list(run_it().values) == ["low", "high"]


def test_a_name_in_a_library_is_added_for_that_file_alone():
    sampler = blackjax.hmc(lambda x: -0.5 * (x**2).sum(), 0.1, jnp.ones(2), 3)
    state = sampler.init(jnp.ones(2))

    def sample():
        with jdw.capture(watch="momentum@integrators.py") as run:
            jax.block_until_ready(jax.jit(sampler.step)(jax.random.key(0), state))
        file = next(site.file for site in run.sites if site.file.endswith("integrators.py"))
        return run, {one["name"]: one["pattern"] for one in asked(run, type="source", file=file)["names"]}

    run, names = sample()
    name, pattern = next((name, pattern) for name, pattern in names.items() if pattern)
    assert pattern.startswith(f"{name}@") and pattern.endswith("integrators.py")
    switch(run, pattern, on=True)
    run, names = sample()
    assert not names[name]
    switch(run, name, on=False)
    assert run.status().added == ()
