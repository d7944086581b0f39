"""Test that tools which count the traces of a function count those of a capture separately."""

import importlib
import sys

import chex
import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw

LIMITS = {"chex": chex.assert_max_traces(n=1), "equinox": eqx.debug.assert_max_traces(max_traces=1)}


@pytest.fixture(params=LIMITS)
def once(request):
    """Return a function that prints and may be traced only once."""
    chex.clear_trace_counter()

    @jax.jit
    @LIMITS[request.param]
    def double(x):
        h = x * 2
        jax.debug.print("{}", h)
        return h

    return double


X = jnp.ones(3)


@pytest.mark.parametrize("options", [{}, {"watch": "h"}])
def test_a_function_that_may_be_traced_once_is_traced_in_a_capture_as_well(once, options):
    once(X)
    for _ in range(2):
        with jdw.capture(**options) as run:
            once(X)
            once(X)
        assert [event.text for event in run.events if not event.site.watch] == [str(X * 2)] * 2
    once(X)


def test_a_function_that_was_traced_in_a_capture_first_may_be_traced_outside(once):
    with jdw.capture():
        once(X)
    once(X)


def test_traces_of_callbacks_cost_and_verify_are_not_counted_as_the_users(once):
    once(X)
    jdw.callbacks(once, X)
    jdw.cost(once, X)
    assert jdw.verify(once, X, options={"watch": "h"}).equal
    once(X)


def test_a_capture_raises_too_if_a_function_is_traced_too_often(once):
    """New shapes are traced again, in a capture as outside of one."""
    once(X)
    with jdw.capture():
        once(X)
        with pytest.raises((AssertionError, RuntimeError), match="traced"):
            once(jnp.ones(4))
    with pytest.raises((AssertionError, RuntimeError), match="traced"):
        once(jnp.ones(4))


def test_trace_counts_of_equinox_and_chex_are_reported_and_cleared_as_usual():
    def double(x):
        jax.debug.print("{}", x)
        return x * 2

    counted = eqx.debug.assert_max_traces(double, max_traces=None)
    jitted = eqx.filter_jit(counted)
    jitted(X)
    with jdw.capture():
        jitted(X)
        jitted(jnp.ones(4))
        assert eqx.debug.get_num_traces(counted) == 2
    assert eqx.debug.get_num_traces(counted) == 1
    table = sys.modules["chex._src.asserts_internal"].TRACE_COUNTER
    with jdw.capture():
        jax.jit(chex.assert_max_traces(double, 1))(X)
        chex.clear_trace_counter()
        jax.jit(chex.assert_max_traces(double, 1))(X)
    assert sys.modules["chex._src.asserts_internal"].TRACE_COUNTER is table


def test_a_library_that_is_imported_in_the_capture_counts_apart(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "chex"]:
        monkeypatch.delitem(sys.modules, name)
    with jdw.capture() as run:
        again = importlib.import_module("chex")
        assert again is not chex

        @jax.jit
        @again.assert_max_traces(n=1)
        def double(x):
            jax.debug.print("{}", x)
            return x * 2

        double(X)
    double(X)
    assert len(run.events) == 1
