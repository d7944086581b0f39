"""Test steps that counting firings does not give: in a branch, and in a loop of unknown length."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import PartitionSpec as P

import jax_debug_widgets as jdw
from tests.devices import cpu_mesh


def say(x):
    jax.debug.print("{x}", x=x)
    return x


def two_devices():
    return cpu_mesh((2,), ("d",))


def every_third(x, i):
    return lax.cond(i % 3 == 0, say, lambda x: x * 1.0, x)


def steps(program, *args: Any):
    with jdw.capture() as run:
        jax.jit(program)(*args)
    return [event.step for event in run.events]


LOOPS = {
    "scan": lambda x: lax.scan(lambda x, i: (every_third(x, i) + 1, None), x, jnp.arange(8))[0],
    "fori": lambda x: lax.fori_loop(0, 8, lambda i, x: every_third(x, i) + 1, x),
    "while": lambda x: lax.while_loop(lambda c: c[0] < 8, lambda c: (c[0] + 1, every_third(c[1], c[0]) + 1), (0, x))[1],
    "in jit": lambda x: lax.fori_loop(0, 8, lambda i, x: jax.jit(every_third)(x, i) + 1, x),
    "in checkpoint": lambda x: lax.fori_loop(0, 8, lambda i, x: jax.checkpoint(every_third)(x, i) + 1, x),
    "vmapped": lambda x: jax.vmap(lambda x: lax.fori_loop(0, 8, lambda i, x: every_third(x, i) + 1, x))(x[None])[0],
}


@pytest.mark.behaviour("P4")
@pytest.mark.parametrize("loop", LOOPS)
def test_a_print_in_a_branch_has_the_step_of_its_loop(loop):
    assert steps(LOOPS[loop], jnp.float32(1)) == [(0,), (3,), (6,)]


@pytest.mark.behaviour("P4")
def test_steps_of_a_reversed_scan_are_counted_from_the_start():
    def program(x):
        return lax.scan(lambda x, i: (every_third(say(x), i) + 1, None), x, jnp.arange(8), reverse=True)[0]

    assert sorted(steps(program, 1.0)) == sorted([(i,) for i in range(8)] + [(0,), (3,), (6,)])
    with jdw.capture(every=4) as run:
        jax.jit(program)(1.0)
    first = [event for event in run.events if event.site == run.events[0].site]
    assert [(event.step, event.occurrence) for event in first] == [((7,), 0), ((3,), 4)]


@jax.custom_vjp
def twice(x, i):
    jax.debug.print("{i} there", i=i)
    return 2 * x


def twice_there(x, i):
    return twice(x, i), i


def twice_back(i, cotangent):
    jax.debug.print("{i} back", i=i)
    return 2 * cotangent, None


twice.defvjp(twice_there, twice_back)


@pytest.mark.behaviour("P4", "P6")
@pytest.mark.parametrize("outer", [1, 2])
def test_forward_and_backward_of_an_iteration_have_one_step(outer):
    def loss(x):
        def inner(j, x):
            return lax.scan(lambda x, i: (twice(x, 10 * j + i), None), x, jnp.arange(4))[0]

        return lax.fori_loop(0, outer, inner, x)

    with jdw.capture() as run:
        jax.jit(jax.grad(loss))(1.0)
    for there in ("there", "back"):
        found = {event.step: int(event.values[0]) for event in run.events if event.text.endswith(there)}
        assert found == {(j, i): 10 * j + i for j in range(outer) for i in range(4)}
    assert {event.site.phase for event in run.events} == {"forward", "backward"}


@pytest.mark.parametrize("outer", [1, 2])
@pytest.mark.parametrize("reverse", [False, True])
def test_steps_in_an_unrolled_loop_do_not_depend_on_the_order_of_xla(outer, reverse):
    def inner(carry, j):
        i, x = carry
        jax.debug.print("{at} {x}", at=jnp.stack([i, j]), x=x)
        jax.debug.print("ordered {at}", at=jnp.stack([i, j]), ordered=True)
        jax.debug.print("the same {}", 1.5)
        return (i, x + 1), None

    def program(x):
        body = lambda x, i: (lax.scan(inner, (i, x), jnp.arange(5), unroll=2)[0][1], None)  # noqa: E731
        return lax.scan(body, x, jnp.arange(3), reverse=reverse, unroll=outer)[0]

    with jdw.capture() as run:
        jax.jit(program)(0.0)
    told = [event for event in run.events if "at" in event.kwargs]
    assert [event.step for event in told] == [tuple(event.kwargs["at"].tolist()) for event in told]
    assert len(told) == 30
    assert {event.step for event in run.events if "at" not in event.kwargs} == {()}


def test_a_print_in_a_branch_of_nested_loops_has_both_steps():
    def program(x):
        return lax.fori_loop(
            0, 2, lambda j, x: lax.scan(lambda x, i: (every_third(x, i + j) + 1, None), x, jnp.arange(3))[0], x
        )

    assert steps(program, 1.0) == [(0, 0), (1, 2)]


def countdown(x):
    """Print each number down to zero."""
    return lax.while_loop(lambda y: y > 0, lambda y: say(y) - 1, x)


def test_a_print_in_a_while_inside_another_loop_has_both_steps():
    program = lambda x: lax.scan(lambda c, i: (c + countdown(i), None), x, jnp.arange(4))[0]  # noqa: E731
    assert steps(program, 0) == [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]


@pytest.mark.behaviour("P4")
def test_lanes_that_finish_at_different_times_have_their_own_steps():
    def program(xs):
        return lax.fori_loop(0, 2, lambda _, xs: xs + jax.vmap(countdown)(xs), xs)

    with jdw.capture() as run:
        jax.jit(program)(jnp.array([1, 3]))
    real = [(event.lane, event.step) for event in run.events if not event.phantom]
    assert sorted(real) == sorted(
        [((0,), (j, 0)) for j in range(2)] + [((1,), (j, i)) for j in range(2) for i in range(3)]
    )


def test_steps_in_the_condition_of_an_inner_while_are_right():
    def program(x):
        def condition(y):
            jax.debug.print("at {y}", y=y, ordered=True)
            return y > 0

        return lax.fori_loop(0, 2, lambda j, c: c + lax.while_loop(condition, lambda y: y - 1, c + j), x)

    assert steps(program, 1) == [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]


def test_a_print_in_a_differentiated_branch_has_its_steps():
    def loss(x):
        return lax.scan(lambda x, i: (jnp.sin(every_third(x, i)), None), x, jnp.arange(8))[0]

    with jdw.capture() as run:
        jax.jit(jax.grad(loss))(1.0)
    assert [event.step for event in run.events] == [(0,), (3,), (6,)]


def test_callbacks_in_a_branch_have_their_steps():
    def told(x):
        jax.debug.callback(lambda _: None, x)
        return jax.experimental.io_callback(lambda x: x, x, x)

    def program(x):
        return lax.fori_loop(0, 4, lambda i, x: lax.cond(i > 1, told, lambda x: x, x) + 1, x)

    with jdw.capture() as run:
        assert jax.jit(program)(1.0) == 5.0
    assert {(event.kind, event.step) for event in run.events} == {
        ("callback", (2,)),
        ("callback", (3,)),
        ("io", (2,)),
        ("io", (3,)),
    }


@pytest.mark.behaviour("P5")
def test_a_print_in_a_branch_has_its_steps_on_each_device_of_a_mesh():
    mesh = two_devices()

    def program(xs):
        def shard(x):
            return lax.fori_loop(0, 4, lambda i, x: lax.cond(i > 1, say, lambda x: x, x) + 1, x)

        return jax.shard_map(shard, mesh=mesh, in_specs=P("d"), out_specs=P("d"))(xs)

    with jdw.capture() as run:
        jax.jit(program)(jnp.arange(2.0))
    found = sorted((event.mesh_coords["d"], event.step) for event in run.events)
    assert found == [(0, (2,)), (0, (3,)), (1, (2,)), (1, (3,))]


def test_a_print_in_a_shard_map_has_the_steps_of_the_loop_around_it():
    mesh = two_devices()

    def program(xs):
        shard = jax.shard_map(lambda i, x: every_third(x, i), mesh=mesh, in_specs=(P(), P("d")), out_specs=P("d"))
        return lax.fori_loop(0, 5, lambda i, xs: shard(i, xs) + 1, xs)

    with jdw.capture() as run:
        jax.jit(program)(jnp.arange(2.0))
    assert sorted((event.mesh_coords["d"], event.step) for event in run.events) == [
        (d, (step,)) for d in range(2) for step in (0, 3)
    ]


@pytest.mark.parametrize("is_checked", [True, False], ids=["check_vma", "as before"])
def test_steps_in_a_loop_of_a_partly_automatic_shard_map_are_right(is_checked):
    # One device of each group fires, and the coordinates on the other axes count the groups apart.
    mesh = cpu_mesh((2, 2), ("a", "b"))

    def shard(x):
        def inner(x, at):
            jax.debug.print("{} {} on {}", *at, lax.axis_index("a"))
            return x + 1, None

        def outer(x, i):
            jax.debug.print("{} on {}", i, lax.axis_index("a"))
            return lax.scan(inner, x, (jnp.full(2, i), jnp.arange(2)))[0], None

        return lax.scan(outer, x, jnp.arange(3))[0]

    program = jax.jit(
        jax.shard_map(shard, mesh=mesh, in_specs=P("a"), out_specs=P("a"), axis_names={"a"}, check_vma=is_checked)
    )
    with jdw.capture() as run:
        jax.block_until_ready(program(jnp.arange(4.0)))
    assert len(run.events) == 2 * (3 + 6)
    for event in run.events:
        step, _, group = event.text.partition(" on ")
        assert event.step == tuple(map(int, step.split())), event.text
        assert event.mesh_coords == {"a": int(group)}
    assert run.findings == []


def test_a_print_that_jax_may_hoist_has_no_step():
    def program(x, n):
        def body(c):
            lax.cond(x > 0, lambda: jax.debug.print("steady {x}", x=x), lambda: None)
            return c + 1

        return lax.while_loop(lambda c: c < n, body, 0)

    assert steps(program, 1.0, 3) == [()] * 3


def test_a_steady_value_in_a_branch_that_is_not_always_taken_stays_in_its_loop():
    def program(x):
        def body(i, x):
            lax.cond(i % 2 == 1, lambda: jax.debug.print("steady {y}", y=x), lambda: None)
            return x

        return lax.fori_loop(0, 6, body, x)

    assert steps(program, 1.0) == [(1,), (3,), (5,)]


def test_steps_of_branches_change_no_bit_of_the_results(same_bits):
    def program(x):
        def body(carry, i):
            total, x = carry
            x = every_third(x * 1.1, i)
            return (total + x**2, x), jnp.sin(x)

        return lax.scan(body, (0.0, x), jnp.arange(50))

    x = np.float32(0.3)
    plain = jax.jit(jax.value_and_grad(lambda x: program(x)[0][0]))(x)
    with jdw.capture() as run:
        captured = jax.jit(jax.value_and_grad(lambda x: program(x)[0][0]))(x)
    assert same_bits(plain, captured)
    assert {event.step for event in run.events} == {(i,) for i in range(0, 50, 3)}
