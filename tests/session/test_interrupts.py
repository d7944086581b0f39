"""Test interrupts and other signals while events are taken in, while programs are lowered, and in other processes."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import warnings
import weakref

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat.uninterrupted import uninterrupted
from jax_debug_widgets._jax.passes.watching import WatchHooks
from jax_debug_widgets._jax.running import handover, hooks
from jax_debug_widgets.breakpoints import InterruptWatch
from jax_debug_widgets.session.run.run import Run
from jax_debug_widgets.session.session import Session
from jax_debug_widgets.transport import Pump
from tests.devices import cpu_mesh


def test_an_interrupt_while_events_are_stored_comes_after_them(monkeypatch):
    program = jax.jit(lambda x: jax.debug.print("x {}", x))
    with jdw.capture() as run:
        for number in range(5):
            program(jnp.float32(number))
        jax.effects_barrier()
        ingest = run.store.ingest

        def interrupted(*args: object):
            monkeypatch.undo()
            os.kill(os.getpid(), signal.SIGINT)
            return ingest(*args)

        monkeypatch.setattr(run.store, "ingest", interrupted)
        with pytest.raises(KeyboardInterrupt):
            len(run.events)
    assert [event.text for event in run.events] == [f"x {number}.0" for number in range(5)]


def test_the_users_sigint_handler_is_restored():
    handler, reached = signal.getsignal(signal.SIGINT), []

    def interrupted():
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            reached.append(True)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert reached
    assert signal.getsignal(signal.SIGINT) is handler


@pytest.mark.behaviour("B4")
@pytest.mark.parametrize("ordered", [False, True])
def test_a_program_that_catches_the_interrupt_continues(ordered):
    """The program has `except KeyboardInterrupt:` around a training loop, and then evaluates and saves."""
    step = jax.jit(lambda w: (jax.debug.print("step {}", w, ordered=ordered), w * 0.5)[1])
    with jdw.capture() as run:
        w = step(jnp.float32(8))
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        w = step(w)
        assert float(step(w)) == 1
    assert [event.text for event in run.events] == ["step 8.0", "step 4.0", "step 2.0"]
    assert run.status().state == "done"


def test_a_sigint_handler_of_the_program_is_called_and_the_run_continues():
    step, came = jax.jit(lambda w: (jax.debug.print("step {}", w), w * 0.5)[1]), []
    handler = signal.signal(signal.SIGINT, lambda *_: came.append(True))
    try:
        with jdw.capture() as run:
            w = step(jnp.float32(8))
            os.kill(os.getpid(), signal.SIGINT)
            assert float(step(w)) == 2
    finally:
        signal.signal(signal.SIGINT, handler)
    assert came
    assert len(run.events) == 2
    assert run.status().state == "done"


def test_a_sigint_handler_set_inside_the_capture_is_called():
    step, came = jax.jit(lambda w: (jax.debug.print("step {}", w), w * 0.5)[1]), []
    with jdw.capture() as run:
        w = step(jnp.float32(8))
        handler = signal.signal(signal.SIGINT, lambda *_: came.append(True))
        try:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(20):
                w = step(w)
        finally:
            signal.signal(signal.SIGINT, handler)
    assert came
    assert len(run.events) == 21


def in_a_callback_of_the_garbage_collector():
    def interrupt(*_: object):
        gc.callbacks.remove(interrupt)
        os.kill(os.getpid(), signal.SIGINT)

    gc.callbacks.append(interrupt)
    gc.collect()


def in_a_del():
    class Buffer:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    Buffer()


def in_the_callback_of_a_weak_reference():
    class Buffer: ...

    buffer = Buffer()
    _reference = weakref.ref(buffer, lambda _: os.kill(os.getpid(), signal.SIGINT))
    del buffer


DROPPED = [in_a_callback_of_the_garbage_collector, in_a_del, in_the_callback_of_a_weak_reference]


@pytest.mark.behaviour("B4")
@pytest.mark.parametrize("interrupt", DROPPED)
@pytest.mark.parametrize("goes_on", [True, False], ids=["before the next call", "at the end"])
def test_an_interrupt_that_python_drops_is_raised_at_the_next_call_or_the_end(interrupt, goes_on):
    step, after, hook = jax.jit(lambda w: (jax.debug.print("step {}", w), w * 0.5)[1]), [], sys.unraisablehook

    def program():
        w = step(jnp.float32(8))
        interrupt()
        after.append(True)
        if goes_on:
            step(w)
            after.append(True)

    with (
        pytest.raises(jdw.Stopped, match=r"^interrupted (before the next call|after the last event)$"),
        jdw.capture() as run,
    ):
        program()
    assert len(after) == 1
    assert [event.text for event in run.events] == ["step 8.0"]
    assert run.status().state == "interrupted"
    assert sys.unraisablehook == hook


@pytest.mark.behaviour("B4")
def test_an_interrupt_dropped_before_our_thread_reports_it_stays_dropped():
    told, is_heard, is_dropped = [], threading.Event(), threading.Event()

    def interrupted():
        if threading.current_thread() is threading.main_thread():
            assert is_heard.wait(60)
        else:
            is_heard.set()
            assert is_dropped.wait(60)

    def dropped():
        told.append("dropped")
        is_dropped.set()
        return True

    def interrupt(*_: object):
        gc.callbacks.remove(interrupt)
        os.kill(os.getpid(), signal.SIGINT)

    watch = InterruptWatch(interrupted, lambda: False, lambda: told.append("told"), dropped)
    watch.start()
    gc.callbacks.append(interrupt)
    gc.collect()
    watch.stop()
    assert told == ["told", "dropped"]


@pytest.mark.behaviour("B4")
def test_an_interrupt_after_the_last_event_on_several_devices_is_raised_at_the_end(monkeypatch):
    """The interrupt is left to the program, whose next event raises it on all devices."""
    mesh = cpu_mesh((2,), ("d",))
    show = jax.shard_map(lambda x: (jax.debug.print("x {}", x), x)[1], mesh=mesh, in_specs=P("d"), out_specs=P("d"))
    xs, after = jax.device_put(jnp.arange(2.0), NamedSharding(mesh, P("d"))), []

    def program():
        xs_now = jax.jit(show)(xs)
        jax.block_until_ready(xs_now)
        monkeypatch.setattr(run.call_log, "pending", lambda: [True])  # The program is over, but this is not noted yet.
        os.kill(os.getpid(), signal.SIGINT)
        after.append(True)
        monkeypatch.undo()

    with pytest.raises(jdw.Stopped, match=r"^interrupted after the last event$"), jdw.capture() as run:
        program()
    assert after
    assert len(run.events) == 2
    assert run.status().state == "interrupted"


ENDING = {
    "while it is told that the program has returned": (Run, "returned"),
    "while the run ends": (Session, "stop"),
    "while we stop to listen": (InterruptWatch, "_listen_no_more"),
    "while the panel gets the last of it": (Pump, "stop"),
}


@pytest.mark.behaviour("B4")
@pytest.mark.parametrize("moment", ENDING)
def test_an_interrupt_while_a_capture_ends_lets_it_end(moment, monkeypatch):
    step, (owner, name) = jax.jit(lambda w: (jax.debug.print("step {}", w), w * 0.5)[1]), ENDING[moment]
    ours, threads = getattr(owner, name), set(threading.enumerate())

    def interrupted(*args: object, **options: object):
        monkeypatch.undo()
        os.kill(os.getpid(), signal.SIGINT)
        return ours(*args, **options)

    def program():
        step(jnp.float32(8))
        jax.effects_barrier()
        monkeypatch.setattr(owner, name, interrupted)

    with pytest.raises(KeyboardInterrupt), jdw.capture() as run:
        program()
    assert getattr(owner, name) is ours
    assert run.status().state == "done"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not {one.name for one in set(threading.enumerate()) - threads} & {"jaxdebug-interrupts", "jaxdebug-pump"}
    with jdw.capture() as run:
        step(jnp.float32(8))
    assert run.status().state == "done"


class OutOfTimeError(Exception):
    pass


@pytest.fixture
def time_limit():
    """Set a handler of SIGALRM that raises, as time limits of tests or trainings do."""

    def end(*_: object):
        raise OutOfTimeError

    handler = signal.signal(signal.SIGALRM, end)
    yield
    signal.signal(signal.SIGALRM, handler)


LOWERING = {
    "prints that are results": (handover, "with_results", {"ordered": False}, None),
    "prints that are calls": (hooks, "with_recorders", {"ordered": True}, None),
    "watched values": (WatchHooks, "_with_taps", {"ordered": False}, "y"),
}


@pytest.mark.usefixtures("time_limit")
@pytest.mark.parametrize("name", LOWERING)
def test_an_exception_of_a_signal_handler_during_lowering_reaches_the_program(name, monkeypatch):
    where, what, options, watch = LOWERING[name]
    reached, ours = [], getattr(where, what)

    def alarmed(*args: object):
        reached.append(True)
        os.kill(os.getpid(), signal.SIGALRM)
        return ours(*args)

    def program(x):
        y = x * 2
        jax.debug.print("y {}", y, **options)
        return y

    monkeypatch.setattr(where, what, alarmed)
    with jdw.capture(watch=watch), pytest.raises(OutOfTimeError):
        jax.jit(program)(jnp.float32(1))
    assert reached


@pytest.mark.usefixtures("time_limit")
def test_several_signals_are_all_handled():
    came, handler = [], signal.signal(signal.SIGUSR1, lambda *_: came.append(True))

    @uninterrupted()
    def signalled():
        os.kill(os.getpid(), signal.SIGALRM)
        os.kill(os.getpid(), signal.SIGUSR1)
        assert not came

    try:
        with pytest.raises(OutOfTimeError):
            signalled()
    finally:
        signal.signal(signal.SIGUSR1, handler)
    assert came


def test_an_interrupt_of_a_forked_process_is_not_ours():
    """The process is that of a data loader, forked in the capture."""
    step = jax.jit(lambda w: (jax.debug.print("step {}", w), w * 0.5)[1])
    began, begin = os.pipe()
    with jdw.capture() as run:
        w = step(jnp.float32(8))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # JAX and Python warn of `fork`.
            child = os.fork()
        if not child:
            try:
                os.write(begin, b".")
                while True:
                    signal.pause()
            except KeyboardInterrupt:
                os._exit(7)
            finally:
                os._exit(1)
        os.read(began, 1)
        os.kill(child, signal.SIGINT)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        for _ in range(20):
            w = step(w)
            jax.effects_barrier()
    os.close(began)
    os.close(begin)
    assert len(run.events) == 21
    assert run.status().state == "done"
