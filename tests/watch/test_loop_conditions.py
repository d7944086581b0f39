"""Test that values in the condition of a `while` are watched by name, as those in its body are."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

LIMIT = 0.1


def go_on(state):
    i, x = state
    error = jnp.abs(x - 2.0)
    is_far = error > LIMIT
    return is_far & (i < 50)


def advance(state):
    i, x = state
    new = x + (2.0 - x) * 0.3
    return i + 1, new


def settle(x):
    return lax.while_loop(go_on, advance, (0, x))


def errors(x):
    """Return `error` at each evaluation of the condition: once more than the body runs."""
    found = [abs(np.float32(x) - 2)]
    while found[-1] > LIMIT:
        found.append(found[-1] * np.float32(0.7))
    return found


@pytest.mark.parametrize("watch", ["error,new", "error,is_far", True])
def test_a_value_of_the_condition_is_watched_each_time_it_is_asked(watched, same_bits, watch):
    plain = jax.jit(settle)(5.0)
    run = watched(jax.jit(settle), 5.0, watch=watch)
    assert same_bits(run.result, plain)
    assert run.status().notes == () or watch is True
    np.testing.assert_allclose(run["error"]["value"], errors(5.0), rtol=1e-5)
    assert list(run["error"].steps) == list(range(len(errors(5.0))))
    if watch == "error,new":
        assert len(run["new"].steps) == len(errors(5.0)) - 1
    else:
        assert run["is_far"]["value"].tolist() == [1.0] * (len(errors(5.0)) - 1) + [0.0]


def test_lanes_that_end_one_by_one_are_asked_together_once_an_iteration(watched, same_bits):
    program, starts = jax.jit(jax.vmap(settle)), jnp.array([2.0, 5.0, 2.5])
    plain = program(starts)
    run = watched(program, starts, watch="error,new")
    assert same_bits(run.result, plain)
    (note,) = run.status().notes
    assert "error, new count lanes that have left their loop" in note
    longest = errors(5.0)
    np.testing.assert_allclose(run["error"]["max"], longest, rtol=1e-5)
    assert len(run["new"].steps) == len(longest) - 1


def test_conditions_inside_loops_and_derivatives_have_their_steps(watched, same_bits):
    def outer(x):
        return lax.scan(lambda c, _: (settle(c + 3.0)[1], c), x, length=3)[0]

    program = jax.jit(lambda x: jax.jvp(outer, (x,), (1.0,)))
    plain = program(1.0)
    run = watched(program, 1.0, watch="error")
    assert same_bits(run.result, plain)
    values = np.asarray(run["error"]["value"])
    assert (values <= LIMIT).sum() == 3
    assert values[0] == pytest.approx(2.0)


def test_when_looks_at_what_the_condition_computes(watched):
    run = watched(jax.jit(settle), 5.0, watch="error", when="error < 1")
    np.testing.assert_allclose(run["error"]["value"], [one for one in errors(5.0) if one < 1], rtol=1e-5)


def test_an_unwatched_loop_condition_has_a_note(watched, same_bits):
    plain = jax.jit(settle)(5.0)
    run = watched(jax.jit(settle), 5.0, watch="error,new", every=3)
    assert same_bits(run.result, plain)
    (note,) = run.status().notes
    assert note.startswith("Not taken: error, in the condition of a `while`")
    assert len(run["new"].steps) == -(-(len(errors(5.0)) - 1) // 3)

    def outer(x):
        return lax.scan(lambda c, _: (settle(c)[1], c), x, length=6)[0]

    run = watched(jax.jit(outer), 5.0, watch="error,new", every=3)
    assert run.status().notes == ()  # The outer loop is sampled; the inner one is watched as usual.
    np.testing.assert_allclose(run["error"]["value"][: len(errors(5.0))], errors(5.0), rtol=1e-5)

    def printing(state):
        jax.debug.print("x {}", state[1])
        return go_on(state)

    program = jax.jit(jax.vmap(lambda x: lax.while_loop(printing, advance, (0, x))))
    run = watched(program, jnp.array([2.0, 5.0]), watch="error")
    assert run.status().notes[0].startswith("Not taken: error, in the condition of a `while`")
