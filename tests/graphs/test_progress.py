"""Test that long work shows its progress."""

from __future__ import annotations

import threading

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.run import progress
from jax_debug_widgets.session.studies.outside_loops import outside_loops
from jax_debug_widgets.session.studies.programs import traced

X = jnp.linspace(0.1, 1.0, 5)


def looped(x):
    y = jax.jit(lambda x: jnp.sin(x) + 1)(x)  # Three equations with the call.
    y = lax.scan(lambda c, _: (c * 0.5 + x, None), y, None, length=3)[0]  # One, with two inside.
    return jnp.exp(y)


def test_equations_inside_loops_run_with_the_equation_around_them():
    _, program = traced(current_session(), looped, (X,), {})
    inside = [one for one in program.equations if len(one.path) > 0]
    assert outside_loops(program) == len(program.equations) - 2 and len(inside) >= 4


@pytest.mark.parametrize(
    ("against", "says"),
    [
        ("float64", "Running looped in float64"),
        ("op-by-op", "Running looped op by op"),
        (None, "Running looped equation by equation"),
    ],
)
def test_a_comparison_counts_the_equations_that_have_run(monkeypatch, capsys, against, says):
    monkeypatch.setattr(progress, "_DELAY_S", 0.0)
    monkeypatch.setattr(progress, "_PAUSE_S", 0.0)
    before = threading.active_count()
    jdw.compare(looped, X, against=against) if against else jdw.compare(looped, looped, X)
    written = capsys.readouterr().err
    assert says in written and "4/5" in written
    assert written.split("\r")[-1].strip() == "", "the bar goes when the work ends"
    assert threading.active_count() <= before


def test_short_work_shows_nothing(capsys):
    jdw.compare(looped, looped, X)
    assert capsys.readouterr().err == ""
