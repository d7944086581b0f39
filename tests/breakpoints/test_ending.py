"""Test pause, stop and interrupt: the program ends where requested, and the process works afterwards."""

from __future__ import annotations

import functools
import os
import signal
import threading
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import jax_debug_widgets as jdw
from jax_debug_widgets.breakpoints import answers
from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.panel.requests import answer
from tests.conftest import DEVICES, mesh
from tests.waiting import until

STEPS = 100_000


def looping(width):
    """Return a long loop that prints; wide loops fire in XLA's own threads."""

    def step(i, x):
        jax.debug.print("{i}", i=i)
        return jnp.tanh(x @ x * jnp.float32(0.01)) + x * jnp.float32(0.1)

    return jax.jit(lambda x: lax.fori_loop(0, STEPS, step, x)), jnp.ones((width, width), jnp.float32)


def stepping_on_all():
    """Return a long loop on all devices with a collective in each step."""

    @jax.jit
    @functools.partial(jax.shard_map, mesh=mesh(), in_specs=P("d"), out_specs=P("d"))
    def f(x):
        def body(i, x):
            jax.debug.print("{}", i)
            y = jnp.tanh(x + lax.psum(x, "d") * jnp.float32(0.1))
            jax.debug.callback(lambda _: None, y.sum())
            return y

        return lax.fori_loop(0, STEPS, body, x)

    return f, jax.device_put(np.ones((DEVICES * 8, 8), np.float32), NamedSharding(mesh(), P("d")))


def silent():
    """Return a long loop without prints that is only watched."""

    def step(_, x):
        new = jnp.tanh(x @ x * jnp.float32(0.01)) + x * jnp.float32(0.1)
        return new  # noqa: RET504 - the name is what is watched

    return jax.jit(lambda x: lax.fori_loop(0, STEPS, step, x)), jnp.ones((4, 4), jnp.float32)


def silent_on_all():
    """Return the same on all devices, with a collective in each step."""

    @jax.jit
    @functools.partial(jax.shard_map, mesh=mesh(), in_specs=P("d"), out_specs=P("d"))
    def f(x):
        def body(_, x):
            new = jnp.tanh(x + lax.psum(x, "d") * jnp.float32(0.1))
            return new  # noqa: RET504 - the name is what is watched

        return lax.fori_loop(0, STEPS, body, x)

    return f, jax.device_put(np.ones((DEVICES * 8, 8), np.float32), NamedSharding(mesh(), P("d")))


WATCHED = {"silent": silent, "silent collective": silent_on_all}
PROGRAMS = {"narrow": lambda: looping(4), "wide": lambda: looping(300), "collective": stepping_on_all}


def is_well():
    """Assert that JAX computes, that its barrier does not raise, and that a capture works; return True."""
    jax.effects_barrier()
    assert float(jax.jit(lambda x: x * 2)(jnp.float32(2))) == 4
    with jdw.capture() as run:
        f, x = looping(4)
        del f, x
        jax.jit(lambda x: (jax.debug.print("{}", x), x)[1])(1.0)
    assert len(run.events) == 1
    return True


def when_it_runs(run):
    """Wait until events arrive."""
    until(lambda: len(run.events))


def ended_by(user, page, program, *args: Any, has_panel=True, **options: Any):
    """Run `program(*args)` in a capture while `user()` acts in a thread; return the exception."""
    thread = threading.Thread(target=user)

    def run():
        with jdw.capture(**options) as page.run:
            if has_panel:
                page.run.panel  # noqa: B018 - opens it
            thread.start()
            jax.block_until_ready(program(*args))

    with pytest.raises(KeyboardInterrupt) as raised:
        run()
    thread.join(30)
    assert not thread.is_alive()
    return raised.value


@pytest.mark.behaviour("B4")
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_is_ended_at_its_next_event(page, program):
    f, x = PROGRAMS[program]()
    ended: list[float] = []

    def user():
        when_it_runs(page.run)
        ended.append(time.monotonic())
        assert page.ask("halt")["type"] == "done"

    error = ended_by(user, page, f, x)
    assert isinstance(error, jdw.Stopped) and str(error).startswith("stopped at test_ending.py:")
    assert time.monotonic() - ended[0] < 5
    assert len(page.run.events) < STEPS
    assert page.run.status().state == "stopped"
    assert (page.run.calls[-1].state, page.run.calls[-1].error) == ("stopped", str(error))
    assert page.run.status().barrier.state == "drained", "nothing has failed"
    assert is_well()


def pause_and_halt(page, stops):
    when_it_runs(page.run)
    page.ask("pause")
    stops.append(page.stop())
    page.go_on(stops[0])
    page.ask("halt")


@pytest.mark.behaviour("B4")
@pytest.mark.parametrize("program", WATCHED)
def test_a_program_that_is_only_watched_is_paused_and_ended(page, program):
    f, x = WATCHED[program]()
    stops = []
    error = ended_by(functools.partial(pause_and_halt, page, stops), page, f, x, watch="new")
    assert isinstance(error, jdw.Stopped) and str(error).startswith("stopped at test_ending.py:")
    assert stops[0]["reason"].startswith("paused at test_ending.py:")
    assert 0 < len(page.run.events) < STEPS * DEVICES
    assert is_well()


@pytest.mark.behaviour("B4")
@pytest.mark.parametrize("program", PROGRAMS)
# The interrupt may come in JAX's callback of the garbage collector, where Python prints and drops it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_ends_a_running_program(page, program):
    f, x = PROGRAMS[program]()

    def user():
        when_it_runs(page.run)
        os.kill(os.getpid(), signal.SIGINT)

    ended_by(user, page, f, x, has_panel=False)
    assert len(page.run.events) < STEPS
    assert page.run.status().state == page.run.calls[-1].state == "interrupted", page.run.calls[-1].error
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.set_wakeup_fd(-1) == -1
    assert not [one for one in threading.enumerate() if one.name == "jaxdebug-interrupts"]
    assert is_well()


@pytest.mark.behaviour("B4")
@pytest.mark.parametrize("width", [4, 300])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_ends_a_stop(page, width):
    def f(x):
        def step(_, x):
            jdw.breakpoint(when=x.sum() > 0, num_frames=0)
            return jnp.tanh(x @ x)

        return lax.fori_loop(0, 50, step, x)

    def user():
        page.stop()
        os.kill(os.getpid(), signal.SIGINT)

    ended_by(user, page, jax.jit(f), jnp.ones((width, width), jnp.float32))
    assert current_session().debugger.stop is None
    assert is_well()


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_pause_stops_at_the_next_event_and_goes_on(page, program):
    f, x = PROGRAMS[program]()

    def user():
        when_it_runs(page.run)
        page.ask("pause")
        stop = page.stop()
        stops.append(stop)
        if program == "collective":
            until(lambda: not current_session().debugger.stop.warning)  # All devices stop together.
        before = len(page.run.store)
        page.go_on(stop)
        until(lambda: len(page.run.events) > before)
        page.ask("halt")

    stops = []
    assert isinstance(ended_by(user, page, f, x), jdw.Stopped)
    (stop,) = stops
    assert stop["kind"] == "pause" and stop["frames"][0]["locals"]
    assert is_well()


@pytest.mark.behaviour("B4")
@pytest.mark.parametrize("watch", [None, "y"])
def test_steps_whose_prints_are_results_are_paused_and_ended_at_a_step(page, watch):
    @jax.jit
    def step(x):
        y = jnp.tanh(x @ x)
        if watch is None:
            jax.debug.print("{}", y[0, 0])
        return y

    def train(x):
        for _ in range(100_000):
            x = step(x)
        return x

    stops = []
    error = ended_by(
        functools.partial(pause_and_halt, page, stops), page, train, jnp.ones((100, 100), jnp.float32), watch=watch
    )
    assert isinstance(error, jdw.Stopped)
    assert stops[0]["reason"].startswith("paused at test_ending.py:")
    calls = [event.call for event in page.run.events]  # The events are read once, because a late one may arrive.
    assert set(calls) == set(range(len(calls)))
    assert is_well()


def test_a_program_that_fires_on_one_device_for_all_is_ended_before_its_next_call(page):
    x = jax.device_put(np.ones((DEVICES * 8, 8), np.float32), NamedSharding(mesh(), P("d")))

    @jax.jit
    def f(x):
        jax.debug.print("{}", x.sum())
        return x / x.sum()

    calls = []

    def many():
        for number in range(1000):
            jax.block_until_ready(f(x))
            calls.append(number)
            if number == 5:
                page.ask("halt")

    error = ended_by(lambda: None, page, many)
    assert isinstance(error, jdw.Stopped) and "before the next call" in str(error)
    assert len(calls) == 6
    assert is_well()


def test_q_ends_the_program_at_a_stop(page):
    def user():
        stop = page.stop()
        page.say(stop, "q")

    error = ended_by(user, page, jax.jit(lambda x: (jdw.breakpoint(), x)[1]), 1.0)
    assert isinstance(error, jdw.Stopped) and str(error).startswith("stopped at test_ending.py:")
    assert is_well()


@pytest.mark.behaviour("B4")
def test_a_program_ended_at_a_stop_names_the_line_of_the_stop(page):
    def f(x):
        y = x * 2
        z = jnp.log(y)
        return z + y

    def user():
        page.told = page.stop()
        page.ask("halt")

    error = ended_by(user, page, jax.jit(f), -1.0, watch=True, break_on="nonfinite")
    where = page.told["frames"][0]["where"]
    assert where.endswith(f":{f.__code__.co_firstlineno + 2}")
    assert isinstance(error, jdw.Stopped) and str(error) == f"stopped at {where}"


@pytest.mark.behaviour("B1")
def test_all_devices_stand_together_at_a_breakpoint(stopped):
    @jax.jit
    @functools.partial(jax.shard_map, mesh=mesh(), in_specs=P("d"), out_specs=P("d"))
    def f(x):
        for _ in range(2):
            x = x + lax.psum(x, "d")
            jdw.breakpoint()
        return x

    stops = []

    def each(_page, stop):
        until(lambda: not current_session().debugger.stop.warning)
        assert stop["device"].startswith("cpu:")

    stopped(f, jnp.ones(DEVICES), user=lambda page: stops.extend(page.all_stops(each)))
    assert len(stops) == 2


@pytest.mark.behaviour("B4")
def test_a_program_whose_result_nobody_waits_for_is_ended_as_well(page, capsys):
    f, x = stepping_on_all()

    def user():
        when_it_runs(page.run)
        page.ask("halt")

    thread = threading.Thread(target=user)
    with jdw.capture() as page.run:
        page.run.panel  # noqa: B018 - opens it
        thread.start()
        result = f(x)
    thread.join()
    del result
    assert "jaxdebug: stopped at test_ending.py:" in capsys.readouterr().out
    assert is_well()


def test_the_console_computes_while_all_threads_of_xla_stand(stopped):
    @jax.jit
    @functools.partial(jax.shard_map, mesh=mesh(), in_specs=P("d"), out_specs=P("d"))
    def f(x):
        y = x @ x.T
        jax.debug.breakpoint()
        return x + lax.psum(y.sum(), "d")

    def each(page, stop):
        until(lambda: not current_session().debugger.stop.warning)
        assert float(page.say(stop, "float(jnp.sum(y @ y))")) == pytest.approx(300.0**5, rel=1e-4)

    x = jnp.ones((DEVICES * 300, 300), jnp.float32)
    stops = []
    stopped(f, x, user=lambda page: stops.extend(page.all_stops(each)))
    assert len(stops) == 1


@pytest.mark.parametrize("wanted", ["pause", "halt"])
def test_a_job_of_several_processes_is_neither_paused_nor_stopped_by_a_page(wanted, monkeypatch):
    session = current_session()
    monkeypatch.setattr(answers, "joined", lambda: 2)
    with jdw.capture() as run:
        [(message, _)] = answer(session, {"type": wanted, "run": run.key, "id": 1})
        policy = session.debugger.policy
        assert (policy.pausing, policy.halted) == (False, None)
    assert message["type"] == "error" and "would leave the others waiting in a collective" in message["message"]
