"""Test the names of functions as people read them."""

from __future__ import annotations

import jax
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.events.function_names import short_function


@pytest.mark.parametrize(("qualified", "short"), [
    ("step", "step"),
    ("train.<locals>.step", "step"),
    ("train.<locals>.Model.apply", "Model.apply"),
    ("grow.<locals>.dish.<locals>.frame.<locals>.<lambda>", "frame.<lambda>"),
    ("train.<locals>.<lambda>.<locals>.<listcomp>", "train.<lambda>.<listcomp>"),
])  # fmt: skip
def test_a_function_is_called_without_those_that_it_is_defined_in(qualified, short):
    assert short_function(qualified) == short


def test_the_line_of_a_callback_has_the_short_name():
    def frame(x):
        jax.debug.callback(lambda one: one.sum(), x)
        return x

    with jdw.capture() as run:
        jax.jit(frame)(1.0)
    (event,) = run.events
    assert event.text == "frame.<lambda>(1.0)"
