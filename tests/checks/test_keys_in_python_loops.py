"""Test PRNG keys that a Python loop uses again, so that one line draws several times with one key."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import pytest
from jax import random

import jax_debug_widgets as jdw


def of_layers(k):
    weights = []
    for rows, columns in ((2, 3), (3, 4)):
        weights.append(random.normal(k, (rows, columns)))  # here
    return weights


def in_a_comprehension(k):
    return [random.normal(k) for _ in range(2)]  # here


def of_the_leaves_of_a_tree(k):
    return jax.tree.map(lambda leaf: leaf + random.normal(k, leaf.shape), [jnp.ones(2), jnp.ones(3)])  # here


def noisy(x, k):
    return x + random.normal(k, x.shape)


def through_a_helper(k):
    x = jnp.ones(2)
    for _ in range(2):
        x = noisy(x, k)  # here
    return x


def through_a_jitted_helper(k):
    x, n = jnp.ones(2), 0
    while n < 2:
        x, n = jax.jit(noisy)(x, k), n + 1  # here
    return x


def from_one_seed(_):
    weights = random.normal(random.PRNGKey(7), (3,))
    return weights + random.normal(random.PRNGKey(7), (3,))  # here


REUSING = (of_layers, in_a_comprehension, of_the_leaves_of_a_tree, through_a_helper, through_a_jitted_helper)


def line_of(function) -> int:
    source, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(source) if "# here" in line)


@pytest.mark.parametrize("make", [random.key, random.PRNGKey], ids=["typed", "legacy"])
@pytest.mark.parametrize("program", [*REUSING, from_one_seed], ids=lambda one: one.__name__)
def test_the_line_in_the_loop_is_reported(program, make):
    with jdw.capture() as run:
        jax.jit(program)(make(0))
    (finding,) = run.findings
    assert finding.where == f"test_keys_in_python_loops.py:{line_of(program)}"
    assert ("2 iterations" in finding.headline) == (program in REUSING)


def test_the_line_in_the_loop_is_reported_where_another_function_has_drawn_before():
    """JAX traces the body of `random.normal` for the first function that draws such a shape."""

    def program(k):
        return [random.normal(k, (5, size)) for size in (3, 4)]  # here

    jax.jit(lambda k: random.normal(k, (5, 3)) + 1)(random.key(1))
    with jdw.capture() as run:
        jax.jit(program)(random.key(0))
    (finding,) = run.findings
    assert finding.where.endswith(f":{line_of(program)}") and "2 iterations" in finding.headline


def test_the_line_that_calls_a_library_in_a_loop_is_reported():
    eqx = pytest.importorskip("equinox")
    dropout = eqx.nn.Dropout(0.5)

    def program(k):
        x = jnp.ones(3)
        for _ in range(3):
            x = dropout(x, key=k)  # here
        return x

    with jdw.capture() as run:
        jax.jit(program)(random.key(0))
    (finding,) = run.findings
    assert finding.where.endswith(f":{line_of(program)}")
    assert "3 iterations" in finding.headline


def test_two_parts_of_one_key_that_a_library_splits_are_one_finding():
    eqx = pytest.importorskip("equinox")

    def program(k):
        first = eqx.nn.Linear(2, 2, key=k)
        return first.weight + eqx.nn.Linear(2, 2, key=k).weight  # here

    with jdw.capture() as run:
        jax.jit(program)(random.key(0))
    assert [one.where.rpartition(":")[2] for one in run.findings] == [str(line_of(program))]


def chained(k):
    drawn = []
    for _ in range(3):
        k, sub = random.split(k)
        drawn.append(random.normal(sub))
    return drawn


def elements(k):
    keys = random.split(k, 6)
    return [random.normal(keys[n]) for n in range(3)] + [random.normal(one) for one in keys[3:]]


def folded(k):
    return [noisy(jnp.ones(2), random.fold_in(k, n)) for n in range(3)]


def from_other_seeds(_):
    return [random.normal(random.PRNGKey(n)) for n in range(3)]


def shuffled(k):
    return random.permutation(k, 10)  # Splits in a loop of its own.


@pytest.mark.parametrize("make", [random.key, random.PRNGKey], ids=["typed", "legacy"])
@pytest.mark.parametrize(
    "program", [chained, elements, folded, from_other_seeds, shuffled], ids=lambda one: one.__name__
)
def test_a_loop_with_a_key_for_each_iteration_is_silent(program, make):
    with jdw.capture(check="keys") as run:
        jax.jit(program)(make(0))
    assert run.findings == []


@pytest.mark.parametrize("derive", [jax.hessian, jax.jacfwd])
def test_a_derivative_in_all_directions_has_no_lanes(derive):
    def loss(w, k):
        return (w**3 * random.normal(k, w.shape)).sum()

    with jdw.capture(check="keys") as run:
        jax.jit(derive(loss))(jnp.ones(2), random.key(0))
    assert run.findings == []
