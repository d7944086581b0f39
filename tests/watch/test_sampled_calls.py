"""Test `--every N` of functions without a long loop together with what else a capture compiles into their programs."""

from __future__ import annotations

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw

X = np.linspace(0, 1, 4, dtype=np.float32)
EVERY, CALLS, STEPS = 3, 8, [0, 3, 6]
CHECKS = [None, "oob", True]


@pytest.mark.parametrize("check", CHECKS)
def test_a_function_with_a_print_gives_its_own_results_in_each_call(check, same_bits):
    @jax.jit
    def program(x):
        h = jnp.sin(x)
        jax.debug.print("{}", x[1])
        return h * 2

    plain = [program(X * i) for i in range(CALLS)]
    jax.effects_barrier()
    with jdw.capture(watch="h", every=EVERY, check=check) as run:
        captured = [program(X * i) for i in range(CALLS)]
    assert same_bits(plain, captured)
    assert run["h"].steps.tolist() == STEPS
    assert len(run.calls) == CALLS
    assert Counter(event.site.kind for event in run.events) == {"watch": 3, "print": 3}


@pytest.mark.parametrize("check", CHECKS)
def test_a_function_without_effects_is_watched_in_each_nth_call_under_checks(check):
    @jax.jit
    def program(x, i):
        h = jnp.sin(x)
        return h[i]

    with jdw.capture(watch="h", every=EVERY, check=check) as run:
        for i in range(CALLS):
            program(X, i % 5)
    assert run["h"].steps.tolist() == STEPS
    assert [finding.kind for finding in run.findings] == (["oob"] if check else []), "call 4 is not watched"


def test_a_call_that_leaves_values_out_expects_no_values(monkeypatch):
    """With several calls in flight, an event belongs to the oldest call that expects one."""

    @jax.jit
    def program(x):
        h = jnp.sin(x)
        return h * 2

    expected = []
    with jdw.capture(watch="h", every=EVERY) as run:
        dispatching = run.dispatching
        monkeypatch.setattr(
            run, "dispatching", lambda recorders: (expected.append(len(recorders.taps)), dispatching(recorders))
        )
        for _ in range(CALLS):
            program(X)
    assert [expected[number] > 0 for number in range(CALLS)] == [number in STEPS for number in range(CALLS)]
    assert [(event.call, event.occurrence) for event in run.events] == [(step, step) for step in STEPS]
