"""Test the error for a value that a run does not have."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jax_debug_widgets as jdw

X = jnp.arange(3.0)


@jax.jit
def program(x, key):
    size = x.shape[0]
    alias = x
    own, _ = jax.random.split(key)
    hidden = jnp.tanh(alias)

    def seldom(hidden):
        doubled = hidden * 2
        return doubled

    either = lax.cond(hidden.sum() > 1e9, seldom, lambda hidden: hidden, hidden)
    total = (either + jax.random.normal(own, x.shape)).sum() / size
    jax.debug.print("{total}", total=total)
    return total


def run_of(watch=None):
    with jdw.capture(watch=watch) as run:
        program(X, jax.random.key(0))
    return run


@pytest.mark.parametrize(("name", "why"), [
    ("doubled", "'doubled' (test_asking.py:25) is watched and has no values: it has not been computed (a branch that was not"),
    ("size", "'size' (line 19) has no values: known while tracing: no array operation computes it"),
    ("alias", "'alias' (line 20) is not watched by this name: the same value as x; name either with --watch"),
    ("own", "'own' (line 21) has no values: a PRNG key: there are no numbers in it"),
    ("hiden", "'hiden' is not watched in this run; did you mean hidden? there are "),
])  # fmt: skip
def test_a_value_that_is_not_there_says_why(name, why):
    run = run_of(watch=True)
    with pytest.raises(KeyError, match=re.escape(why)):
        run[name]
    assert name not in run
    if name != "hiden":
        for ask in (run.series, run.plot, run.show):
            with pytest.raises(KeyError, match=re.escape(why)):
                ask(name)


def test_the_error_for_an_unwatched_name_says_how_to_watch_it():
    run = run_of(watch="total")
    with pytest.raises(
        KeyError, match=r"'either' \(line 28\) is not watched: name it with --watch, or use --watch-all"
    ):
        run["either"]
    with pytest.raises(KeyError, match="'nothing' is not watched in this run; there are total"):
        run["nothing"]
    unwatched = run_of()
    with pytest.raises(
        KeyError, match=r"'hidden' is not watched, nor is anything else in this run: ask for it with --watch hidden"
    ):
        unwatched["hidden"]
    with pytest.raises(KeyError, match=r"What is printed and called back of it: run.series\('total'\)"):
        unwatched["total"]
    assert "total" not in unwatched and list(unwatched) == []


def test_a_run_knows_its_names():
    run = run_of(watch="total,hidden")
    assert set(run) == set(run.values) and "total" in list(run)
    assert "total" in run and "totl" not in run and 3 not in run and None not in run
    assert "hidden" in run  # `hidden` is assigned at several places: `run["hidden"]` asks which.
    assert all(name in run and run[name].site for name in run)
    assert bool(run_of())  # A run without watched values is true, too.


@pytest.mark.parametrize("wrong", [3, None, ("total",)])
def test_a_name_that_is_no_string_is_refused(wrong):
    run = run_of(watch="total")
    for ask in (run.__getitem__, run.series, run.plot, run.show):
        with pytest.raises(TypeError, match=r"asked for by its name, in a string \('loss'\), not by "):
            ask(wrong)


def test_names_are_completed():
    with jdw.capture(watch="h,g") as run:
        jax.jit(lambda x: [h := x * 2.0, g := jnp.sin(h), g + 1][-1])(1.0)
    assert run._ipython_key_completions_() == run.values._ipython_key_completions_() == ["h", "g"]


def test_a_named_scope_is_asked_for_by_its_name_alone_where_no_name_is_like_it(watched):
    def f(x):
        with jax.named_scope("layer"):
            y = jnp.sin(x)
        z = y * 2
        return z.sum()

    assert list(watched(jax.jit(f), jnp.ones(3), watch="layer")) == ["y"]


def test_a_run_in_which_nothing_could_be_watched_says_so_whatever_was_watched_before(watched):
    def f(x):
        y = jnp.sin(x)
        return y

    def told(function):
        return any("Nothing is watched" in note for note in watched(function, jnp.ones(3), histograms=True).notes)

    assert (told(jax.jit(f)), told(f)) == (False, True)


def test_the_error_for_a_tree_lists_its_leaves(watched):
    def f(params):
        doubled = params["w"] * 2
        return doubled + params["b"].sum()

    run = watched(jax.jit(f), {"w": jnp.ones(3), "b": jnp.ones(2)}, watch="params,doubled")
    for asked in (lambda: run["params"], lambda: run.series("params"), lambda: run.plot("params")):
        with pytest.raises(KeyError, match=r"'params' is a tree; its leaves are params\['b'\], params\['w'\]"):
            asked()
    with pytest.raises(KeyError, match="'doubl' is not watched"):
        run["doubl"]


def test_a_name_that_has_a_gradient_alone_says_so(watched):
    def loss(x):
        h = jnp.sin(x)
        return h.sum()

    run = watched(jax.jit(jax.grad(loss)), jnp.ones(3), watch="h")
    assert list(run.values) == ["grad/h"]
    with pytest.raises(KeyError, match=r"'h' has no value in this run, but a gradient: grad/h\. Either it is recorded"):
        run["h"]
