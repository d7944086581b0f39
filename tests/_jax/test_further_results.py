"""Test that hooks wrap the function that runs an executable once, however often they meet the executable."""

from __future__ import annotations

import gc
from functools import partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.running import further_results
from jax_debug_widgets._jax.running.further_results import wrap_calls


class First:
    """Hooks."""


class Second:
    """Other hooks."""


def test_each_owner_wraps_an_executable_once():
    executable = SimpleNamespace(build_unsafe_call=lambda: "theirs")
    for owner in (First, Second, First, Second, First):
        wrap_calls(executable, partial("{}({})".format, owner.__name__), owner)
    assert executable.build_unsafe_call() == "Second(First(theirs))"


@pytest.mark.cpu("a GPU has other executables")
def test_calls_that_python_dispatches_add_nothing_to_an_executable():
    @jax.jit
    def program(x, i):
        jax.debug.print("{}", x[i])
        return x[i]

    def wrapped():
        gc.collect()
        return sum(isinstance(one, further_results._Build) for one in gc.get_objects())

    with jdw.capture(check=["oob"], keep_inputs=2):
        program(jnp.arange(3.0), 0)
        before = wrapped()
        for _ in range(5):
            program(jnp.arange(3.0), 1)
        assert wrapped() == before
