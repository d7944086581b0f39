"""Test that a line which is called from several places has a site, a series and a name for each."""

from __future__ import annotations

import linecache
import re

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets.session import snapshot_of
from jax_debug_widgets.widgets import summary


def layer(x, width):
    h = jnp.tanh(x * width)
    jax.debug.print("h {h}", h=h)
    return h


def network(x):
    x = layer(x, 1.0)
    x = layer(x, 2.0)
    x = layer(x, 3.0)
    return layer(x, 4.0)


def line_of(text):
    lines = linecache.getlines(__file__)
    return next(number for number, line in enumerate(lines, 1) if text in line)


def caller(width):
    return f"test_callers.py:{line_of(f'layer(x, {width})')}"


@pytest.mark.parametrize("wrap", [jax.jit, lambda f: f], ids=["jit", "eager"])
def test_each_call_of_a_function_is_a_series_named_by_its_caller(wrap):
    with jdw.capture() as run:
        for x in (0.1, 0.2, 0.3):
            wrap(network)(x)
    assert len(run.sites) == 4
    for width, site in zip((1.0, 2.0, 3.0, 4.0), run.sites, strict=True):
        assert site.callers[0] == caller(width)
        steps, values = run.series(f"h · {caller(width)}")
        assert steps.tolist() == [0, 1, 2]
        assert values.tolist() == [float(event.values[0]) for event in run.events if event.site is site]
    with pytest.raises(KeyError, match=re.escape(f"h · {caller(1.0)}, h · {caller(2.0)}")):
        run.series("h")
    assert f"h · {caller(3.0)}" in summary(snapshot_of(run))
    labels = [line.get_label() for line in run.plot().get_lines()]
    assert f"h · {caller(4.0)}" in labels


def test_the_caller_that_differs_is_named_even_if_it_is_further_out():
    def block(x):
        return layer(x, 5.0)

    def program(x):
        x = block(x) + 1  # first
        return block(x) + 2  # second

    with jdw.capture() as run:
        jax.jit(program)(1.0)
    for text, seen in (("+ 1  # first", 0), ("+ 2  # second", 1)):
        [value] = run.series(f"h · test_callers.py:{line_of('block(x) ' + text)}")[1]
        assert value == run.events[seen].values[0]


def test_callers_of_the_jitted_function_make_no_further_sites():
    step = jax.jit(lambda x: layer(x, 6.0))
    with jdw.capture() as run:
        step(jnp.ones(()))
        step(jnp.ones(2))
        lax.map(step, jnp.ones(2))
    assert len({site.callers for site in run.sites if not site.name_stack.startswith("jit(scan)")}) == 1


def test_a_loop_and_recursion_are_one_caller():
    def down(x, depth):
        return layer(x, 7.0) if depth == 0 else down(down(x, depth - 1), 0)

    with jdw.capture() as run:
        jax.jit(lambda x: [layer(x, 8.0) for _ in range(3)])(1.0)
        jax.jit(lambda x: down(x, 4))(1.0)
    firings = {}
    for event in run.events:
        firings[event.site] = firings.get(event.site, 0) + 1
    assert 3 in firings.values(), "one line of a Python loop is one place"
    assert len(firings) <= 4, "however deep"


def test_forward_and_recomputed_events_have_one_series():
    with jdw.capture() as run:
        jax.jit(jax.grad(jax.checkpoint(lambda x: layer(x, 9.0))))(1.0)
    assert {site.phase for site in run.sites} == {"forward", "recompute"}
    assert run.series("h")[1].shape == (1,)
