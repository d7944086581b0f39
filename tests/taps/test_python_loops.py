"""Test that steps under `jax.disable_jit()`, where loops are Python's, are those of the compiled program."""

from __future__ import annotations

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np
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


def asked_each_time(x):
    def more(x):
        say(x - 1)
        return x < 4

    return lax.while_loop(more, lambda x: x + 1, x)


def while_it_is_small(x):
    def body(carry):
        i, x = carry
        lax.cond(i == 1, lambda: None, lambda: say(i))
        return i + 1, x * 2

    return lax.while_loop(lambda carry: carry[0] < 3, body, (0, x))[1]


def called_back(x):
    def body(x, i):
        jax.debug.callback(lambda _: None, i)
        return x + 1, None

    return lax.scan(body, x, jnp.arange(3))[0]


def asked_of_the_host(x):
    def body(x, i):
        kind = jax.ShapeDtypeStruct((), jnp.float32)
        more = jax.pure_callback(np.float32, kind, i)
        return x + jax.experimental.io_callback(lambda _: np.float32(1), kind, i) + more, None

    return lax.scan(body, x, jnp.arange(3))[0]


def steps(run):
    return sorted((event.step, event.lane, tuple(map(int, event.values))) for event in run.events)


PROGRAMS = [
    nested,
    backwards,
    bound_of_an_argument,
    mapped,
    asked_each_time,
    while_it_is_small,
    called_back,
    asked_of_the_host,
]


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
def test_steps_of_transformed_programs_are_those_of_the_compiled_program(program, wrap):
    x = jnp.arange(2.0) if wrap is jax.vmap else 1.0
    with jdw.capture() as compiled:
        jax.jit(wrap(program))(x)
    with jdw.capture() as run, jax.disable_jit():
        wrap(program)(x)
    assert steps(run) == steps(compiled)
    assert all(step == values for step, _, values in steps(run))


@pytest.mark.behaviour("P5")
def test_a_sequential_callback_under_vmap_has_the_steps_of_the_loop_around():
    def program(x):
        def body(x, _):
            return x + jax.pure_callback(lambda x: x, x, x, vmap_method="sequential"), None

        return lax.scan(body, x, jnp.arange(3))[0]

    with jdw.capture() as run, jax.disable_jit():
        jax.vmap(program)(jnp.arange(2.0))
    assert [event.step for event in run.events] == [(0,), (0,), (1,), (1,), (2,), (2,)]


@pytest.mark.behaviour("P5")
def test_the_host_samples_prints_of_python_loops():
    with jdw.capture(every=2) as run, jax.disable_jit():
        nested(1.0)
    assert [event.step for event in run.events] == [(0, 0), (1, 0), (2, 0)]


@pytest.mark.behaviour("P5")
def test_prints_in_nested_whiles_have_their_iterations_and_a_print_after_them_has_none():
    def program(x):
        def inner(x):
            say(x // 2, x % 2)
            return x + 1

        return lax.while_loop(lambda x: x < 4, lambda x: lax.while_loop(lambda y: y < x + 2, inner, x), x)

    with jdw.capture() as run, jax.disable_jit():
        program(0)
        program(2)
        say(7)
    assert [event.step for event in run.events] == [(0, 0), (0, 1), (1, 0), (1, 1), (0, 0), (0, 1), ()]


@pytest.mark.behaviour("P5")
def test_a_while_that_began_before_the_capture_does_not_know_its_iteration():
    def captured(x):
        with jdw.capture() as run:
            say(x)
        assert [event.step for event in run.events] == [()]
        return x + 1

    with jax.disable_jit():
        lax.while_loop(lambda x: x < 2, captured, 0)


def test_python_loops_have_steps_only_under_disable_jit():
    with jdw.capture() as run:
        for _ in range(2):
            say(1)
    assert [event.step for event in run.events] == [(), ()]
