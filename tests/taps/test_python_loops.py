"""Under `jax.disable_jit()` JAX's loops are Python's: the steps are those of the compiled program."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jax_debug_widgets as jdw


def say(i, j=""):
    if j == "":
        jax.debug.print("{}", i)
    else:
        jax.debug.print("{} {}", i, j)


def nested(x):
    def outer(x, i):
        def inner(j, x):
            say(i, j)
            return x * 1.5

        return lax.fori_loop(0, 2, inner, x), None

    return lax.scan(outer, x, jnp.arange(3))[0]


def backwards(x):
    def body(x, i):
        say(i)
        return x + 1, None

    return lax.scan(body, x, jnp.arange(3), reverse=True)[0]


def bound_of_an_argument(x):
    def body(i, x):
        say(i - 2)
        return x + 1

    return lax.fori_loop(2, 5 + jnp.int32(x > 100), body, x)


def mapped(x):
    def body(i):
        say(i)
        return x * 2

    return lax.map(body, jnp.arange(3)).sum()


def called_back(x):
    def body(x, i):
        jax.debug.callback(lambda _: None, i)
        return x + 1, None

    return lax.scan(body, x, jnp.arange(3))[0]


def steps(run):
    return sorted((event.step, event.lane, tuple(map(int, event.values))) for event in run.events)


PROGRAMS = [nested, backwards, bound_of_an_argument, mapped, called_back]


@pytest.mark.behaviour("P5")
@pytest.mark.parametrize("program", PROGRAMS)
def test_steps_are_those_of_the_compiled_program(program):
    with jdw.capture() as compiled:
        jax.jit(program)(1.0)
    with jdw.capture() as run, jax.disable_jit():
        jax.jit(program)(1.0)
    assert steps(run) == steps(compiled)
    assert all(step == values for step, _, values in steps(run))
    assert run.to_pandas()["step"].tolist() == [event.step for event in run.events]
    assert run.findings == []


@pytest.mark.behaviour("P5")
@pytest.mark.parametrize("program", [nested, backwards, mapped])
@pytest.mark.parametrize("wrap", [jax.value_and_grad, jax.vmap], ids=["grad", "vmap"])
def test_transformed_as_well(program, wrap):
    x = jnp.arange(2.0) if wrap is jax.vmap else 1.0
    with jdw.capture() as compiled:
        jax.jit(wrap(program))(x)
    with jdw.capture() as run, jax.disable_jit():
        wrap(program)(x)
    assert steps(run) == steps(compiled)
    assert all(step == values for step, _, values in steps(run))


@pytest.mark.behaviour("P5")
def test_one_of_several_is_sampled_by_the_host():
    with jdw.capture(every=2) as run, jax.disable_jit():
        nested(1.0)
    assert [event.step for event in run.events] == [(0, 0), (1, 0), (2, 0)]


@pytest.mark.behaviour("P5")
def test_a_while_does_not_count_and_nothing_in_it_has_a_step():
    def program(x):
        def body(x):
            return lax.scan(lambda x, i: (say(i), (x + 1, None))[1], x, jnp.arange(2))[0]

        return lax.while_loop(lambda x: x < 4, body, x)

    with jdw.capture() as run, jax.disable_jit():
        program(0)
        say(7)
    assert [event.step for event in run.events] == [()] * 5


def test_outside_of_it_nothing_is_looked_for():
    with jdw.capture() as run:
        for _ in range(2):
            say(1)
    assert [event.step for event in run.events] == [(), ()]
