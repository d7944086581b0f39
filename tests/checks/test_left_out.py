"""Test that a fault in a value which no choice takes has no finding, also through loops, branches and functions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jax_debug_widgets as jdw

X = jnp.arange(10.0)


def a_scan(k):
    return lax.scan(lambda total, j: (total + X[k + j], None), 0.0, jnp.arange(3))[0]


def stacked_by_a_scan(k):
    return lax.scan(lambda total, j: (total, X[k + j]), 0.0, jnp.arange(3))[1].sum()


def a_fori_loop(k):
    return lax.fori_loop(0, 3, lambda j, total: total + X[k + j], 0.0)


def a_while_loop(k):
    return lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + X[k + s[0]]), (0, 0.0))[1]


def writes_in_a_loop(k):
    return lax.scan(lambda x, j: (x.at[k + j].set(1.0), None), X, jnp.arange(3))[0].sum()


def a_loop_in_a_loop(k):
    return lax.scan(lambda total, _: (total + a_scan(k), None), 0.0, None, length=2)[0]


def a_jitted_function(k):
    return jax.jit(lambda k: X[k] * 2)(k)


def a_checkpointed_function(k):
    return jax.checkpoint(lambda k: X[k])(k)


def a_branch(k):
    return lax.cond(X[0] < 3, lambda: X[k], lambda: 0.0)


def a_sum(k):
    return X[k + jnp.arange(3)].sum()


COMPUTING = (
    a_scan,
    stacked_by_a_scan,
    a_fori_loop,
    a_while_loop,
    writes_in_a_loop,
    a_loop_in_a_loop,
    a_jitted_function,
    a_checkpointed_function,
    a_branch,
    a_sum,
)


def chosen_by_where(compute, i, limit):
    return jnp.where(i < limit, compute(i), 0.0)


def chosen_by_where_in_lanes(compute, i, limit):
    return jax.vmap(lambda k: jnp.where(k < limit, compute(k), 0.0))(jnp.array([11, 12]) + i - i)


def chosen_by_cond_in_lanes(compute, i, limit):
    return jax.vmap(lambda k: lax.cond(k < limit, compute, lambda _k: 0.0, k))(jnp.array([11, 12]) + i - i)


CHOOSING = (chosen_by_where, chosen_by_where_in_lanes, chosen_by_cond_in_lanes)
PAIRS = [
    (choose, compute)
    for choose in CHOOSING
    for compute in COMPUTING
    if (choose, compute) != (chosen_by_cond_in_lanes, a_branch)  # These are nested choices.
]


@pytest.mark.parametrize(("choose", "compute"), PAIRS, ids=lambda one: one.__name__)
def test_only_a_faulty_read_that_some_lane_takes_has_a_finding(choose, compute):
    with jdw.capture(check="oob") as run:
        jax.jit(lambda i: choose(compute, i, 5))(12)
    assert run.findings == []
    with jdw.capture(check="oob") as run:
        jax.jit(lambda i: choose(compute, i, 20))(12)
    (finding,) = run.findings
    assert "is outside axis 0 (size 10)" in finding.headline


def test_a_loop_that_some_lanes_leave_out_is_silent():
    """Outside of the loop it is not known which lane has the fault."""
    with jdw.capture(check="oob") as run:
        jax.jit(lambda i: jax.vmap(lambda k: lax.cond(k < 5, a_scan, lambda _k: 0.0, k))(jnp.array([1, i])))(12)
    assert run.findings == []


def test_a_nan_and_a_cast_in_a_loop_that_is_left_out():
    def logs(x):
        return lax.scan(lambda total, j: (total + jnp.log(x + j), None), 0.0, jnp.arange(3.0))[0]

    def bytes_of(x):
        return lax.scan(lambda total, j: (total + (x + j).astype(jnp.int8), None), jnp.int8(0), jnp.arange(3.0))[0]

    def program(x):
        return jnp.where(x < 0, 0.0, logs(x)), jnp.where(x < 0, jnp.int8(0), bytes_of(x))

    with jdw.capture(check=["nonfinite", "casts"]) as run:
        jax.jit(program)(jnp.float32(-500))
    assert run.findings == []
    with jdw.capture(check=["nonfinite", "casts"]) as run:
        jax.jit(lambda x: program(-x + 0.0))(jnp.float32(-500))
    (finding,) = run.findings
    assert "3 values do not fit int8, the first is 500" in finding.headline


def test_a_faulty_carry_that_other_carries_read_has_a_finding():
    """The returned total is computed from a carry that is not returned."""

    def walk(i):
        def step(state, _):
            row, total = state
            return (X[i + 20], total + row), None

        return lax.scan(step, (0.0, 0.0), None, length=3)[0][1]

    def until(i):
        return lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1 + 0 * X[i + 20], s[1] + 1.0), (0.0, 0.0))[1]

    for program in (walk, until):
        with jdw.capture(check="oob") as run:
            jax.jit(program)(1)
        assert "index 21 is outside" in run.findings[0].headline


def test_a_faulty_carry_that_nothing_reads_has_no_finding():
    def walk(i):
        def step(state, _):
            _, total = state
            return (X[i + 20], total + 1.0), None

        row, total = lax.scan(step, (0.0, 0.0), None, length=3)[0]
        return total, jnp.where(i > 5, row, 0.0)

    with jdw.capture(check="oob") as run:
        jax.jit(walk)(1)
    assert run.findings == []


def test_a_choice_inside_of_a_function_leaves_out_as_well():
    helper = jax.jit(lambda v, i: jnp.where(i > 50, v, 0.0))
    with jdw.capture(check="oob") as run:
        jax.jit(lambda i: jnp.where(i > 3, helper(X[i], i), 0.0))(12)
    assert run.findings == []


LEFT_OUT = {
    "and": lambda k: (k < 10) & (X[k] > 0),
    "and, the test last": lambda k: (X[k] > 0) & (k < 10),
    "and of three": lambda k: (k < 10) & (X[k] > 0) & (X[0] == 0),
    "and of three, the test last": lambda k: (X[0] == 0) & (X[k] > 0) & (k < 10),
    "or": lambda k: (k >= 10) | (X[k] > 0),
    "elements": lambda k: ((k + jnp.arange(3) < 10) & (X[k + jnp.arange(3)] > 0)).any(),
    "a logarithm": lambda k: (jnp.float32(k - 10) < X) & (jnp.log(X - 0.5) > 1),
    "in a loop": lambda k: lax.scan(lambda c, j: (c, (X[k + j] > 0) & (k + j < 10)), 0, jnp.arange(2))[1],
    "of a function": lambda k: jax.jit(lambda k: X[k] > 0)(k) & (k < 10),
}
COUNTS = {
    "and": lambda k: (X[k] > 0) & (k < 20),
    "and of three": lambda k: (X[k] > 0) & (X[0] == 0) & (k < 20),
    "or": lambda k: (X[k] > 0) | (k < 10),
    "some elements": lambda k: (X[k + jnp.arange(3)] > 0) & (jnp.arange(3) > 1),
    "a logarithm": lambda k: (jnp.float32(k - 9) > X) & (jnp.log(X - 0.5) > 1),
    "in a loop": lambda k: lax.scan(lambda c, j: (c, (X[k + j] > 0) & (j >= 0)), 0, jnp.arange(2))[1],
    "of a function": lambda k: jax.jit(lambda k: X[k] > 0)(k) & (k < 20),
    "the condition of a loop": lambda k: lax.while_loop(
        lambda s: (s[0] < 3) & (s[1] < 100), lambda s: (s[0] + 1, X[k + s[0]]), (0, 0.0)
    )[0],
}


@pytest.mark.parametrize("kind", [*LEFT_OUT, *(f"not {kind}" for kind in COUNTS)])
def test_a_faulty_read_that_another_condition_rules_out_has_no_finding(kind):
    """For example, `(i < n) & (x[i] > 0)` reads a wrong element only if it does not matter."""
    is_told = kind.startswith("not ")
    program = (COUNTS if is_told else LEFT_OUT)[kind.removeprefix("not ")]
    with jdw.capture(check="oob,nonfinite") as run:
        jax.jit(program)(jnp.int32(10))
    assert len(run.findings) == is_told


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (lambda x, i: jnp.where(True, x[i], 0.0), 1),
        (lambda x, i: jnp.where(False, x[i], 0.0), 0),
        (lambda x, i: lax.select_n(False, x[i], x[0]), 1),
        (lambda x, i: lax.select(jnp.isnan(x[0]), x[0], lax.select(True, x[0], x[i])) + x[i], 1),
    ],
    ids=["taken", "not taken", "first case", "beside a choice"],
)
def test_a_choice_by_a_literal_takes_one_case(function, found):
    with jdw.capture(check=["oob", "nonfinite"]) as run:
        jax.jit(function)(jnp.arange(3.0), 5)
    assert len(run.findings) == found
    assert not run.status().notes
