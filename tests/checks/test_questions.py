"""Test that public questions about JAX are answered at the user's line."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw
from tests.checks.help_programs import HELP
from tests.checks.question_programs import QUESTIONS
from tests.checks.test_cases import is_found, run_case


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("question", [*QUESTIONS, *HELP], ids=lambda one: one.id)
def test_a_public_question_is_answered_at_its_line(question):
    findings = run_case(question)
    assert is_found(question, findings), [one.message for one in findings]


def soft(x):
    root = jnp.log(x)
    return jnp.where(x < 1.0, root, x).sum()


@pytest.mark.parametrize("function", [soft, jax.jit(jnp.log)], ids=["not jitted", "of JAX's own"])
def test_a_note_says_to_jit_a_function_that_is_not_checked(function):
    with jdw.capture(check="nonfinite") as run:
        assert not jnp.isfinite(function(jnp.array([0.0, 0.5]))).all()
    (note,) = (one for one in run.status().notes if one.startswith("Not checked (nonfinite)"))
    assert "jax.jit(f)(x)" in note and "jax.jit(lambda x: jnp.log(x))" in note


def retention(depth):
    def wet(d):
        decay = jnp.power(1.0 + d, -0.75)
        return decay * 1.0

    return jax.lax.cond(depth > 0, wet, lambda d: jnp.power(1.0 + d, -2.0), depth)


def test_a_nan_of_a_branch_that_its_lane_does_not_take_is_reported_as_masked():
    with jdw.capture(watch=["decay"]) as run:
        assert not jnp.isnan(jax.jit(jax.vmap(retention))(jnp.array([-3.69, 1.578]))).any()
    (finding,) = run.findings
    assert finding.where.endswith(f":{retention.__code__.co_firstlineno + 2}")
    assert "They may be masked: they reach a result only through jax.lax.cond(depth > 0, wet" in finding.message


def shrink(v):
    return jax.lax.while_loop(lambda c: ((c <= 0) | (c > 1e-3)) & (c > -9), lambda c: c - 0.5, v)


def shrunk(v):
    return jax.lax.cond(v >= 0, shrink, lambda v: -v, v)


@pytest.mark.parametrize(("function", "told"), [(shrunk, 1), (shrink, 0)])
def test_a_loop_that_a_batch_runs_for_lanes_of_the_other_branch_is_reported(function, told):
    with jdw.capture() as run:
        jax.jit(jax.vmap(function))(jnp.array([1.0, -1.0]))
    notes = [note for note in run.notes if "under vmap this loop ends" in note]
    loop, choice = (f"test_questions.py:{one.__code__.co_firstlineno + 1}" for one in (shrink, shrunk))
    assert [note.startswith(f"{loop}: ") and f"whose result {choice} leaves out" in note for note in notes] == [
        True
    ] * told


def narrow(x, _y):
    return np.asarray(x, np.float32)


def grid(x, y):
    return jax.pure_callback(narrow, jax.ShapeDtypeStruct(x.shape, x.dtype), x, y, vmap_method="expand_dims")


def test_a_wrong_shape_of_a_host_function_under_two_vmaps_has_a_note_with_both_shapes():
    with jdw.capture() as run, pytest.raises(Exception, match="Incorrect output shape"):
        jax.jit(jax.vmap(jax.vmap(grid, (None, 0)), (0, None)))(jnp.arange(4.0), jnp.arange(5.0)).block_until_ready()
    assert any(
        "Expected: (4, 5), Actual: (4, 1)" in note and "float32[4,1], float32[1,5]" in note for note in run.notes
    )
