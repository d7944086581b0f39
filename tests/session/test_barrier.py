"""Test the effects barrier: waiting for dispatched calls, its timeout, and the run that late events belong to."""

from __future__ import annotations

import logging
import re
import signal
import threading

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import jax_debug_widgets as jdw
from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.run.run import Run
from tests.devices import cpu_mesh, cpu_pmap
from tests.session.conftest import PATIENCE


def run_now():
    return current_session().current


@pytest.mark.behaviour("P9")
def test_effects_are_pending_until_the_callback_returns(slow):
    with jdw.capture(timeout=PATIENCE, barrier=False) as run:
        slow.run(slow.x)
        assert slow.fired.wait(PATIENCE)
        barrier = run.status().barrier
        assert barrier.state == "pending"
        assert len(barrier.pending) == 1
        assert barrier.waits == ()
    assert run.status().state == "waiting"
    slow.release()
    assert run.barrier(PATIENCE)
    assert run.status().barrier.state == "drained"
    assert run.status().state == "done"
    assert len(run.events) == 4


@pytest.mark.behaviour("P9")
def test_the_barrier_at_the_end_waits(slow):
    with jdw.capture(timeout=PATIENCE) as run:
        slow.run(slow.x)
        assert slow.fired.wait(PATIENCE)
        threading.Timer(0.05, slow.release).start()
    assert run.status().barrier.state == "drained"
    assert run.status().barrier.waited > 0
    ((start, end),) = run.status().barrier.waits
    assert end is not None and 0.04 < end - start <= run.status().elapsed
    assert start >= run.calls[0].started_ns * 1e-9
    assert len(run.events) == 4
    assert run.notes == []


@pytest.mark.behaviour("P9")
def test_the_barrier_gives_up_after_its_timeout_with_a_note(slow):
    with jdw.capture(timeout=0.05) as run:
        slow.run(slow.x)
        assert slow.fired.wait(PATIENCE)
    status = run.status()
    assert status.barrier.state == "timeout"
    assert status.barrier.waited >= 0.05
    assert any("had not all arrived after 0.05 s" in note for note in status.notes)


@pytest.mark.behaviour("P9")
def test_status_says_what_is_pending_and_for_how_long(ours, slow):
    ours.ip.push({"slow": slow})
    ours.run("%%jaxdebug --timeout 0.05\nslow.run(slow.x);")
    assert slow.fired.wait(PATIENCE)
    said = ours.run("%jaxdebug status").stdout
    assert re.search(r"effects pending for \d+\.\d s, gave up after 0\.05 s: slow\.run\(slow\.x\)", said)
    gave_up = ours.run("%jaxdebug barrier --timeout 0.05").stdout
    assert "effects still pending after 0.05 s" in gave_up
    slow.release()
    assert "all effects arrived" in ours.run("%jaxdebug barrier").stdout
    assert "all effects arrived" in ours.run("%jaxdebug status").stdout


@pytest.mark.behaviour("P9")
def test_late_events_land_in_the_run_that_dispatched_them(ours, slow):
    ours.ip.push({"slow": slow})
    ours.run("%%jaxdebug --no-barrier\nslow.run(slow.x);")
    run = run_now()
    slow.release()
    assert run.barrier(PATIENCE)
    ours.run("%%jaxdebug\nf(1.);")
    assert len(run.events) == 4
    assert run_now() is not run
    assert [event.text for event in run_now().events] == ["x 1.0"]
    assert {event.call for event in run.events} == {0}
    assert [call.events for call in run.calls] == [4]


def test_the_next_capture_waits_for_the_last_ones_effects(ours, slow):
    ours.ip.push({"slow": slow})
    ours.run("%%jaxdebug --no-barrier\nslow.run(slow.x);")
    first = run_now()
    assert slow.fired.wait(PATIENCE)
    timer = threading.Timer(0.1, slow.release)
    timer.start()
    ours.run("%%jaxdebug\nf(1.);")
    timer.join()
    assert first.status().barrier.state == "drained"
    assert len(first.events) == 4
    assert [event.text for event in run_now().events] == ["x 1.0"]


@pytest.mark.behaviour("P9")
def test_the_option_no_barrier_does_not_wait_for_effects(ours, slow):
    ours.ip.push({"slow": slow})
    outcome = ours.run("%%jaxdebug --no-barrier\nslow.run(slow.x);")
    assert outcome.error == "None"
    assert run_now().status().barrier.state == "pending"
    assert not any("had not all arrived" in note for note in run_now().notes)


def test_an_interrupt_ends_the_wait_and_nothing_else(ours, slow):
    ours.ip.push({"slow": slow})

    def wait_then_interrupt():
        assert slow.fired.wait(PATIENCE)
        run = run_now()
        while run.status().state != "waiting":
            threading.Event().wait(0.01)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    thread = threading.Thread(target=wait_then_interrupt)
    thread.start()
    outcome = ours.run("%%jaxdebug\nslow.run(slow.x)\n3")
    thread.join()
    assert outcome.error == "None"
    assert outcome.value == "3"
    assert "Traceback" not in outcome.stdout
    assert any("when the wait was interrupted" in note for note in run_now().status().notes)
    assert current_session().active is None
    slow.release()
    assert run_now().barrier(PATIENCE)
    ours.run("f(2.)")
    assert len(run_now().events) == 4


def test_an_interrupt_just_before_the_wait_ends_it_as_well(ours, slow, monkeypatch):
    """The state of the run is already that of waiting."""
    returned = Run.returned

    def interrupted(run, error):
        returned(run, error)
        assert run.status().state == "waiting"
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Run, "returned", interrupted)
    ours.ip.push({"slow": slow})
    outcome = ours.run("%%jaxdebug\nslow.run(slow.x)\n3")
    assert (outcome.error, outcome.value) == ("None", "3")
    assert any("when the wait was interrupted" in note for note in run_now().status().notes)
    assert current_session().active is None


def test_an_interrupt_of_the_python_form_is_raised(slow):
    def interrupt():
        assert slow.fired.wait(PATIENCE)
        run = run_now()
        while run.status().state != "waiting":
            threading.Event().wait(0.01)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    thread = threading.Thread(target=interrupt)

    def captured():
        with jdw.capture(timeout=PATIENCE):
            slow.run(slow.x)
            thread.start()

    with pytest.raises(KeyboardInterrupt):
        captured()
    thread.join()
    assert current_session().active is None


def test_a_run_without_effects_has_nothing_to_wait_for(ours):
    ours.run("%%jaxdebug\ng(1.)")
    assert run_now().status().barrier.state == "idle"
    ours.run("%%jaxdebug --no-barrier\ng(1.)")
    assert run_now().status().barrier.state == "off"


def test_a_failed_effect_fails_its_call_and_not_the_next_run(ours):
    ours.run("def bad(x):\n    raise ValueError('broken')\nh = jax.jit(lambda x: (jax.debug.callback(bad, x), x)[1])")
    logging.disable(logging.CRITICAL)
    try:
        ours.run("%%jaxdebug\nh(1.).block_until_ready()\njax.effects_barrier()")
    finally:
        logging.disable(logging.NOTSET)
    assert run_now().status().state == "failed"
    assert run_now().calls[0].state == "failed"
    assert run_now().calls[0].error == "ValueError: broken"
    ours.run("import jax\ntry:\n    jax.effects_barrier()\nexcept Exception:\n    pass")
    ours.run("%%jaxdebug\nf(1.);")
    assert run_now().status().barrier.state == "drained"


def test_the_pump_is_over_when_the_run_is(slow):
    before = set(threading.enumerate())  # These include pumps of earlier runs that will end soon.
    with jdw.capture(timeout=0.05) as run:
        slow.run(slow.x)
        assert slow.fired.wait(PATIENCE)
    (pump,) = (thread for thread in set(threading.enumerate()) - before if thread.name == "jaxdebug-pump")
    slow.release()
    assert run.barrier(PATIENCE)
    pump.join(PATIENCE)
    assert not pump.is_alive()


def test_a_failure_on_many_devices_does_not_fail_the_runs_after_it(caplog):
    def bad(_x):
        msg = "broken"
        raise ValueError(msg)

    everywhere = cpu_pmap(lambda x: (jax.debug.callback(bad, x), x)[1], 4)
    with caplog.at_level("CRITICAL"), jdw.capture() as failed:
        everywhere(jnp.arange(4.0))
    assert failed.status().state == "failed"
    assert failed.calls[0].error == "ValueError: broken"
    with jdw.capture() as run:
        jax.jit(lambda x: jax.debug.print("{}", x))(1.0)
    assert [(call.state, call.error) for call in run.calls] == [("drained", "")]
    assert run.status().state == "done"
    # A successful program on the same devices replaces the failed effect, which JAX's barrier would raise.
    jax.block_until_ready(cpu_pmap(lambda x: (jax.debug.print("{}", x), x)[1], 4)(jnp.arange(4.0)))
    jax.effects_barrier()


@pytest.mark.behaviour("P9")
def test_each_call_of_a_program_with_nothing_but_a_pure_callback_is_seen():
    f = jax.jit(lambda x: jax.pure_callback(lambda x: x, x, x))
    for _ in range(2):
        with jdw.capture() as run:
            for number in range(3):
                f(jnp.float32(number))
        assert [(call.name, call.events, call.state) for call in run.calls] == [("<lambda>", 1, "drained")] * 3
        assert [event.call for event in run.events] == [0, 1, 2]
        assert run.status().barrier.state == "drained"


@pytest.mark.behaviour("P9")
def test_a_program_with_nothing_but_a_pure_callback_is_waited_for():
    entered, go_on = threading.Event(), threading.Event()

    def host(x):
        entered.set()
        assert go_on.wait(PATIENCE)
        return x

    mesh = cpu_mesh((2,), ("d",))
    each = jax.shard_map(
        lambda x: jax.pure_callback(host, x, x), mesh=mesh, in_specs=P("d"), out_specs=P("d"), check_vma=False
    )
    program, argument = jax.jit(each), jax.device_put(jnp.ones(2), NamedSharding(mesh, P("d")))
    with jdw.capture(timeout=PATIENCE, barrier=False) as run:
        program(argument)
        assert entered.wait(PATIENCE)
        assert run.status().barrier.state == "pending"
    assert run.status().state == "waiting"
    go_on.set()
    assert run.barrier(PATIENCE)
    assert run.status().barrier.state == "drained"
    assert [event.kind for event in run.events] == ["pure", "pure"]
    assert {event.call for event in run.events} == {0}
