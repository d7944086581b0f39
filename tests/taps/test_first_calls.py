"""Test that a call fails in a capture exactly if it fails without one; the type of the error may differ."""

from __future__ import annotations

import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw
from tests.callbacks.bodies import like

take_over = jax.jit(lambda x: x + 1, donate_argnums=0)
"""Arguments of it are gone."""


def positive(x):
    if np.any(np.asarray(x) < 0):
        raise ZeroDivisionError
    return np.asarray(x)


def asking(x):
    return jax.pure_callback(positive, like(x), x, vmap_method="sequential")


# Each function is new, because JAX caches by function.
PROGRAMS = {
    "calling the host": lambda: jax.jit(lambda x: asking(x) * 2),
    "donating": lambda: jax.jit(lambda x: asking(x) * 2, donate_argnums=0),
    "of another": lambda: jax.jit(lambda x: jnp.linalg.norm(jax.jit(lambda x: asking(x) * 2)(x))),
    "silent": lambda: jax.jit(lambda x: jnp.sin(x) * 2),
    "then vmapped": lambda: jax.vmap(jax.jit(lambda x: asking(x) * 2)),
    "then differentiated": lambda: jax.grad(jax.jit(lambda x: jnp.sum(asking(jax.lax.stop_gradient(x)) * x))),
    "printing": lambda: jax.jit(lambda x: (jax.debug.print("{}", x), asking(x))[1]),
}

HISTORIES = {"never": (), "once": ("good",), "and failed": ("bad", "good")}

INSIDE = ("bad", "good", "deleted", "good", "donated", "integers", "bad")


def argument(kind):
    if kind == "integers":
        return jnp.arange(3)
    array = jax.device_put(np.full(3, -1.0 if kind == "bad" else 1.0, np.float32))
    if kind == "deleted":
        array.delete()
    elif kind == "donated":
        take_over(array)
    return array


def fails(program, kind):
    """Return whether a call with such an argument raises."""
    try:
        jax.block_until_ready(program(argument(kind)))
    except (jax.errors.JaxRuntimeError, RuntimeError, ValueError, TypeError):
        return True
    return False


@pytest.mark.behaviour("C6")
@pytest.mark.parametrize("watch", [None, True])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.each
def test_a_function_called_before_fails_in_a_capture_as_without_one(name, watch):
    make = PROGRAMS[name]
    for before in HISTORIES.values():
        plain, program = make(), make()
        expected = [fails(plain, kind) for kind in (*before, *INSIDE)]
        outside = [fails(program, kind) for kind in before]
        with jdw.capture(watch=watch):
            inside = [fails(program, kind) for kind in INSIDE]
        assert [*outside, *inside] == expected
        assert {True, False} == set(expected)


def test_a_call_with_an_array_that_is_gone_traces_and_runs_nothing():
    traced, called = [], []

    def f(x):
        traced.append(x)
        return jax.pure_callback(lambda x: called.append(x) or x, like(x), x)

    program = jax.jit(f)
    assert not fails(program, "good")
    with jdw.capture() as run:
        for _ in range(2):
            assert fails(program, "donated")
        assert (len(traced), len(called)) == (2, 1), "once outside, once in the capture"
        assert not fails(program, "good")
    assert not fails(program, "good")
    assert (len(traced), len(called)) == (2, 3)
    assert len(run.events) == 1


def test_functions_that_are_gone_are_not_kept():
    def f(x):
        return asking(x)

    program, gone = jax.jit(f), weakref.ref(f)
    assert not fails(program, "good")
    with jdw.capture():
        assert not fails(program, "good")
    del f, program
    jax.clear_caches()
    gc.collect()
    assert gone() is None
