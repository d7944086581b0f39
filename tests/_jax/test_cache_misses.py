"""Test that JAX explains its cache misses in a capture as without one (`jax_explain_cache_misses`)."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import config, pe

pytestmark = pytest.mark.skipif(
    not versions.EXPLAINS_TRACES,
    reason="JAX does not explain traces by a function that can be replaced (docs/limits.md)",
)


def make_plus():
    """Return a function that JAX has not seen."""
    return jax.jit(lambda x, y: jnp.sin(x) + y)


def other_shape():
    f = make_plus()
    f(jnp.ones(2), 1.0)
    f(jnp.ones(3), 1.0)


def other_type():
    f = make_plus()
    f(1.0, 1.0)
    f(1.0, 1)
    f(jnp.float32(1), 1.0)


def other_tree():
    f = jax.jit(lambda *args, y: args[0] + y[0] if isinstance(y, tuple) else y)
    f(0.0, 1.0, y=(2.0, 2.1))
    f(0.0, (1.0, 1.1), y=2.0)


def other_static():
    f = jax.jit(lambda x, name: x + len(name), static_argnames="name")
    f(1.0, "one")
    f(1.0, name="three")


def other_precision():
    f = make_plus()
    f(1.0, 2.0)
    with jax.default_matmul_precision("high"):
        f(1.0, 2.0)


def new_function_on_a_line():
    for _ in range(2):
        jax.jit(lambda x: x * 3)(1.0)


def a_loop_inside():
    f = jax.jit(lambda xs: jax.lax.scan(lambda carry, x: (carry + x, carry), 0.0, xs))
    f(jnp.ones(2))
    f(jnp.ones(3))


def derivatives():
    f = make_plus()
    for x in (1.0, 2.0, jnp.ones(()), 3.0):
        jax.grad(f)(x, 1.0)


SCENARIOS = [
    other_shape,
    other_type,
    other_tree,
    other_static,
    other_precision,
    new_function_on_a_line,
    a_loop_inside,
    derivatives,
]
CAPTURES = {"captured": jdw.capture, "watched": partial(jdw.capture, watch=True)}


@pytest.fixture
def explained(caplog) -> Callable[..., list[str]]:
    """Return a function that runs a scenario and returns JAX's explanations, with functions named by their lines."""

    def run(scenario, capture=nullcontext) -> list[str]:
        pe.callsites_with_tracing_cache_miss.clear()
        caplog.clear()
        with config.explain_cache_misses(True), caplog.at_level(logging.WARNING, "jax"), capture():
            scenario()
        return [re.sub(r"id=\d+", "id", one.getMessage()) for one in caplog.records if "TRACING" in one.getMessage()]

    return run


@pytest.mark.parametrize("capture", CAPTURES.values(), ids=CAPTURES)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_a_capture_explains_what_jax_explains(scenario, capture, explained):
    scenario()  # JAX's own functions are traced once.
    expected = explained(scenario)
    assert expected
    assert explained(scenario, capture) == expected


@pytest.mark.parametrize("capture", CAPTURES.values(), ids=CAPTURES)
def test_a_function_traced_before_the_capture_is_no_cache_miss(capture, explained):
    f = make_plus()
    f(jnp.ones(2), 1.0)
    assert explained(lambda: f(jnp.ones(2), 1.0), capture) == []
    (text,) = explained(lambda: f(jnp.ones(4), 1.0), capture)
    assert "at x, now f32[4] and before f32[2]" in text


def test_a_second_capture_is_no_cache_miss(explained):
    f = make_plus()
    assert len(explained(lambda: f(1.0, 2.0), CAPTURES["captured"])) == 1
    assert explained(lambda: f(1.0, 2.0), CAPTURES["watched"]) == []
    assert explained(lambda: f(1.0, 2.0)) == []
