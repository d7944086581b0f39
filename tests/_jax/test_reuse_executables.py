"""Test that a capture reuses the executables of functions without effects, and still captures all others."""

from __future__ import annotations

import gc
import logging
import re
import subprocess
import sys
import threading
import traceback
import weakref
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import monitoring
from jax_debug_widgets._jax.running import reuse_executables

X = jnp.linspace(0.1, 1, 5)


@pytest.fixture
def compiled():
    """Return the names that JAX has traced, lowered or compiled since, in this thread only."""
    seen, thread = [], threading.get_ident()

    def note(event, _seconds, fun_name="", **_details: Any):
        if event.startswith("/jax/core/compile") and threading.get_ident() == thread:
            seen.append(fun_name)

    monitoring.register_event_duration_secs_listener(note)
    yield seen
    monitoring.unregister_event_duration_listener(note)


@pytest.fixture(autouse=True)
def _no_breakpoint_was_left_out():
    reuse_executables._left_out.clear()
    yield
    reuse_executables._left_out.clear()


def counting_traces(function):
    """Return the jitted function, and a list with an entry for each trace."""
    traces = []

    @jax.jit
    def counted(x):
        traces.append(x)
        return function(x)

    return counted, traces


SILENT = {
    "arithmetic": lambda x: jnp.tanh(x) * 2,
    "loops": lambda x: lax.scan(lambda c, t: (c + t, c * t), 0.0, x)[1],
    "a gradient": jax.grad(lambda x: (jnp.sin(x) ** 2).sum()),
    "another jitted function": lambda x: jax.jit(jnp.cumsum)(x) + 1,
    "vmap": jax.vmap(lambda x: jnp.sin(x) + 1),
}


@pytest.mark.behaviour("P12")
@pytest.mark.parametrize("kind", SILENT)
def test_a_function_without_prints_is_neither_traced_nor_compiled_again_in_a_capture(kind, compiled):
    function, traces = counting_traces(SILENT[kind])
    expected = function(X)
    compiled.clear()
    for options in ({}, {}, {"every": 3}):
        with jdw.capture(**options):
            np.testing.assert_array_equal(function(X), expected)
    function(X)
    assert len(traces) == 1 and not compiled


def test_unjitted_operations_are_not_compiled_again_in_a_capture(compiled):
    def computed():
        return (jnp.where(X > 0.5, X, 0) @ jnp.ones((5, 3)) + X[1:4]).mean()

    computed()
    compiled.clear()
    watching = [] if versions.TRACEBACKS_LEAVE_THEIR_PROGRAM else [{"watch": "h"}]
    for options in ({}, *watching):
        with jdw.capture(**options):
            computed()
    assert not compiled


def test_a_new_function_is_compiled_once_for_all_captures_of_one_kind(compiled):
    function, traces = counting_traces(jnp.tanh)
    with jdw.capture():
        function(X)
    compiled.clear()
    with jdw.capture():
        function(X)
    assert len(traces) == 1 and not compiled


def test_a_function_that_a_capture_traces_first_is_compiled_once_under_an_unjitted_grad(compiled):
    function, _ = counting_traces(jnp.sin)
    with jdw.capture():
        jax.grad(function)(2.0)
        compiled.clear()
        jax.grad(function)(3.0)
    assert not compiled


CAPTURES: list[dict[str, Any]] = [
    {},
    {"watch": True},
    {"watch": "rest", "when": "rest.min() > -9"},
    {"debug": False},
    {"check": "oob"},
]


@pytest.mark.parametrize("second", range(len(CAPTURES)))
@pytest.mark.parametrize("first", range(len(CAPTURES)))
def test_each_capture_watches_and_checks_a_function_whatever_captures_ran_it_before(first, second):
    @jax.jit
    def program(x):
        def body(x, i):
            rest = x - 0.25
            return rest, rest[i + 3]

        return lax.scan(body, x, jnp.arange(3))

    for number in (first, second, 0, 1, 2, 4, 1):
        options = CAPTURES[number]
        with jdw.capture(**options) as run:
            program(X)
            jax.effects_barrier()
        assert ("rest" in run) == ("watch" in options), number
        assert [one.kind for one in run.findings] == (["oob"] if "check" in options else []), number


def test_the_closure_of_a_jitted_function_is_freed_with_it():
    held = jnp.ones(10)
    function = jax.jit(partial(lambda x: x, held))
    held = weakref.ref(held)
    gc.disable()
    try:
        with jdw.capture():
            for _ in range(2):
                function()
            assert held() is not None
            del function
            assert held() is None
    finally:
        gc.enable()


def test_jax_logs_each_trace_once(caplog):
    function, _ = counting_traces(jnp.sin)
    with jax.log_compiles(True), caplog.at_level(logging.WARNING, "jax"), jdw.capture():
        function(2.0)
    assert len([one for one in caplog.records if re.match("Finished tracing.* counted ", one.getMessage())]) == 1


TELLING = {
    "a print": lambda x: jax.debug.print("{}", x.sum()) or x,
    "a print in a loop": lambda x: lax.scan(lambda c, t: (c, jax.debug.print("{}", t) or t), 0.0, x)[1],
    "a print under vmap": jax.vmap(lambda x: jax.debug.print("{}", x) or x),
    "a callback": lambda x: jax.debug.callback(lambda _: None, x) or x,
    "a pure callback": lambda x: jax.pure_callback(np.sin, jax.ShapeDtypeStruct((5,), jnp.float32), x),
}


@pytest.mark.parametrize("kind", TELLING)
def test_a_function_with_prints_is_captured_even_if_it_was_called_before(kind):
    function, _ = counting_traces(TELLING[kind])
    expected = jax.block_until_ready(function(X))
    jax.effects_barrier()
    with jdw.capture() as run:
        np.testing.assert_array_equal(function(X), expected)
    assert run.events


def test_a_print_in_a_function_that_a_silent_one_calls_elsewhere_is_captured():
    inner, _ = counting_traces(TELLING["a print"])
    outer, _ = counting_traces(lambda x: inner(x) + 1)
    outer(X)
    jax.effects_barrier()
    with jdw.capture() as run:
        outer(X)
    assert len(run.events) == 1


def test_watched_values_of_a_function_that_was_called_before_are_there():
    def f(x):
        h = jnp.sin(x)
        return h * 2

    jitted = jax.jit(f)
    jitted(X)
    with jdw.capture(watch="h") as run:
        jitted(X)
    np.testing.assert_allclose(run["h"]["mean"], [jnp.sin(X).mean()], rtol=1e-6)


def test_a_breakpoint_that_was_left_out_is_there_in_a_capture():
    function, traces = counting_traces(lambda x: jdw.breakpoint(x) * 2)
    function(X)
    with jdw.capture() as run:
        function(X)
    assert len(traces) == 2
    assert [event.kind for event in run.events] == ["breakpoint"]


def test_an_exception_of_a_traced_function_is_that_without_a_capture():
    @jax.jit
    def failing(x):
        raise ValueError(f"of shape {x.shape}")

    def told():
        with pytest.raises(ValueError, match="of shape") as raised:
            failing(X)
        return str(raised.value), [frame.filename for frame in traceback.extract_tb(raised.tb)]

    plain = told()
    with jdw.capture():
        assert told() == plain


PROGRAM = """
import jax, jax.numpy as jnp
import jax_debug_widgets as jdw
traces = []
@jax.jit
def f(x):
    traces.append(x)
    return jnp.sin(x)
f(1.0)
with jdw.capture():
    f(1.0)
jdw.callbacks(f, 1.0)
traces_of_listing = len(traces)
f(1.0)
with jdw.capture():
    f(1.0)
assert len(traces) == traces_of_listing <= 2, traces
"""


@pytest.mark.skipif(
    jax.__version_info__ >= (0, 12, 0, 1), reason="`jax.extend` changes JAX's keys there (docs/limits.md)"
)
def test_the_first_capture_of_a_process_leaves_what_was_compiled_before():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)


@pytest.mark.skipif(versions.TRACEBACKS_LEAVE_THEIR_PROGRAM, reason="there none of them is looked through")
def test_a_function_of_jaxs_that_a_library_calls_again_and_again_is_looked_through_once(monkeypatch):
    looked, ours = [], reuse_executables.calls_users
    monkeypatch.setattr(reuse_executables, "calls_users", lambda jaxpr: looked.append(jaxpr) or ours(jaxpr))

    def program(x):
        for _ in range(5):
            x = jnp.where(x > 0, x, 1.0)
        return x

    with jdw.capture(watch="x"):
        jax.jit(program)(jnp.ones((7, 3, 11)))
    assert looked
    assert len(set(map(id, looked))) == len(looked)
