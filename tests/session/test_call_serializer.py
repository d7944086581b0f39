"""Test that calls of one program run one after the other if XLA does not tell which of them fires."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.session import call_serializer
from jax_debug_widgets.session.call_serializer import CallSerializer
from tests.devices import cpu_mesh
from tests.waiting import PATIENCE, until


@pytest.fixture
def pool():
    with ThreadPoolExecutor(3) as pool:
        yield pool


def is_waited_for(own: CallSerializer, by: int):
    return lambda: len(own._waiting["f"]) == by


def test_a_thread_waits_until_all_calls_of_another_are_over(pool):
    own, order = CallSerializer(), []
    own.take("f", alone=False)
    own.take("f", alone=False)
    other = pool.submit(lambda: (own.take("f", alone=False), order.append("other")))
    until(is_waited_for(own, by=1))
    own.take("g", alone=False)
    own.give_back("f")
    order.append("one is over")
    own.give_back("f")
    other.result(PATIENCE)
    assert order == ["one is over", "other"]


def test_the_call_that_has_waited_longest_is_next(pool):
    own, order, may_go_on = CallSerializer(), [], threading.Event()

    def call(name):
        own.take("f", alone=False)
        order.append(name)
        own.give_back("f")

    own.take("f", alone=False)
    others = []
    for number in (1, 2):
        others.append(pool.submit(call, number))
        until(is_waited_for(own, by=number))

    def again():
        may_go_on.wait(PATIENCE)
        own.give_back("f")

    last = pool.submit(again)
    may_go_on.set()
    call("again")
    for each in (*others, last):
        each.result(PATIENCE)
    assert order == [1, 2, "again"]


def test_calls_that_do_not_end_while_another_waits_are_let_go_on_together(pool, monkeypatch):
    own = CallSerializer()
    own.take("f", alone=False)
    monkeypatch.setattr(call_serializer, "PATIENCE_S", 0.01)
    pool.submit(partial(own.take, "f", alone=False)).result(PATIENCE)
    monkeypatch.setattr(call_serializer, "PATIENCE_S", 1000)
    pool.submit(partial(own.take, "f", alone=False)).result(PATIENCE)


def test_a_wait_that_is_interrupted_keeps_nobody_waiting(pool, monkeypatch):
    own = CallSerializer()
    pool.submit(partial(own.take, "f", alone=False)).result(PATIENCE)

    def interrupted(*_args: object):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(own._changed, "wait_for", interrupted)
        with pytest.raises(KeyboardInterrupt):
            own.take("f", alone=False)
    own.give_back("f")
    pool.submit(partial(own.take, "f", alone=False)).result(PATIENCE)


def test_a_call_that_may_fire_any_number_of_times_waits_for_those_before_it(pool):
    own, order = CallSerializer(), []
    own.take("f", alone=True)
    other = pool.submit(until, is_waited_for(own, by=1))
    over = pool.submit(lambda: (other.result(PATIENCE), order.append("over"), own.give_back("f")))
    own.take("f", alone=True)
    order.append("next")
    over.result(PATIENCE)
    assert order == ["over", "next"]


@pytest.mark.behaviour("P5")
@pytest.mark.parametrize("echo", [False, True])
def test_the_steps_of_loops_of_any_length_on_several_devices_are_their_calls_own(echo, capsys):
    mesh = cpu_mesh((2,), ("d",))

    def body(x):
        device = jax.lax.axis_index("d")

        def step(state):
            jax.debug.print("{} {}", device, state[0])
            return state[0] + 1, state[1] * 2

        return jax.lax.while_loop(lambda state: state[0] < 2 * device + 1, step, (0, x))[1]

    program = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=jax.P("d"), out_specs=jax.P("d"), check_vma=False))
    with jdw.capture(echo=echo) as run:
        for number in range(5):
            program(jnp.arange(2.0) + number)
    capsys.readouterr()
    seen = Counter((event.call, *map(int, event.text.split()), *event.step) for event in run.events)
    assert seen == Counter(
        (call, device, step, step) for call in range(5) for device in (0, 1) for step in range(2 * device + 1)
    )


@pytest.mark.parametrize("echo", [False, True])
def test_steps_belong_to_their_calls_while_another_program_runs_on_the_device(echo, capsys):
    def saying(x):
        def step(state):
            jax.debug.print("{} {}", x[0], state[0])
            return state[0] + 1, state[1] * 1.0

        return jax.lax.while_loop(lambda state: state[0] < x[0] + 1, step, (0, x))[1]

    program, busy = jax.jit(saying), jax.jit(lambda z: z @ z / 300)
    z = jnp.ones((300, 300))
    with jdw.capture(echo=echo) as run:
        for number in range(5):
            program(jnp.full(2, number))
            z = busy(z)
    capsys.readouterr()
    own = [call.id for call in run.calls if call.name == "saying"]
    seen = Counter((own.index(event.call), int(event.text.split()[1]), *event.step) for event in run.events)
    assert seen == Counter((call, step, step) for call in range(5) for step in range(call + 1))


def test_a_program_may_call_itself_on_the_host():
    def again(depth):
        return np.int32(compiled(jnp.int32(int(depth) - 1))) if depth else np.int32(0)

    @jax.jit
    def program(depth):
        def step(state):
            jax.debug.print("{} {}", depth, state)
            return state + 1

        count = jax.lax.while_loop(lambda state: state < depth, step, 0)
        return jax.pure_callback(again, jax.ShapeDtypeStruct((), jnp.int32), depth) + count

    with jdw.capture() as run:
        compiled = program.lower(jnp.int32(3)).compile()
        assert int(compiled(jnp.int32(3))) == 6
    said = Counter(event.text for event in run.events if event.kind == "print")
    assert said == Counter(f"{k} {s}" for k in range(1, 4) for s in range(k))
