"""Test `%jaxdebug callbacks f(x)` and `%jaxdebug status` in a shell."""

from __future__ import annotations

import pytest

from tests.magics.shells import shell

PROGRAM = """
import jax, numpy as np
def host(x): raise RuntimeError("not to be called")
def f(x, n): return jax.pure_callback(host, jax.ShapeDtypeStruct((), "float32"), x) * n
"""


@pytest.fixture(scope="module")
def ours():
    with shell() as one:
        one.start_anew()
        one.run(PROGRAM)
        yield one


@pytest.mark.behaviour("C1")
def test_the_line_magic_gives_an_inventory_and_calls_nothing(ours):
    outcome = ours.run("%jaxdebug callbacks f(1., n=2)")
    assert outcome.error == "None"
    assert "f: 1 callback; nothing has run" in outcome.value
    assert "host" in outcome.value
    assert ours.run("%jaxdebug callbacks jax.jit(f)(1., 2.)").error == "None"


@pytest.mark.parametrize("line", ["callbacks", "callbacks f", "callbacks f(", "callbacks f(1); 2"])
def test_callbacks_of_something_other_than_a_call_is_refused_with_an_example(ours, line):
    assert "takes a call, e.g. `%jaxdebug callbacks f(x)`" in ours.run(f"%jaxdebug {line}").error


@pytest.mark.behaviour("C3")
def test_an_error_of_the_program_is_shown_with_its_explanation(ours):
    error = ours.run("%jaxdebug callbacks jax.grad(f)(1., 2)").stdout
    assert "Pure callbacks do not support JVP" in error
    assert "jax.custom_jvp, and give its derivative with defjvp" in error


@pytest.mark.behaviour("C6")
def test_status_reports_what_was_raised(ours):
    ours.run("%%jaxdebug\njax.jit(f)(1., 2.).block_until_ready()")
    assert "raised RuntimeError: not to be called in host" in ours.run("%jaxdebug status").stdout


def test_the_help_names_callbacks_cost_and_stuck_after(ours):
    text = ours.run("%jaxdebug help").stdout
    assert "%jaxdebug callbacks F(X)" in text
    assert "%jaxdebug cost F(X)" in text
    assert "--stuck-after S" in text


@pytest.mark.behaviour("P10")
def test_the_line_magic_gives_a_cost_report_and_calls_nothing(ours):
    outcome = ours.run("%jaxdebug cost f(1., n=2)")
    assert outcome.error == "None"
    assert "f: 1 call to the host; " in outcome.value
    assert "nothing has run" in outcome.value
    assert "it cannot be measured without it" in outcome.value
    assert "takes a call, e.g. `%jaxdebug cost f(x)`" in ours.run("%jaxdebug cost f").error
