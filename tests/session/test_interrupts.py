"""Interrupts, and other signals, while events are taken in, programs are lowered, and in other processes."""

from __future__ import annotations

import os
import signal
import warnings

import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat.uninterrupted import uninterrupted
from jax_debug_widgets._jax.passes.watching import WatchHooks
from jax_debug_widgets._jax.running import handover, hooks


def test_it_comes_when_the_events_are_in(monkeypatch):
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


def test_the_handler_is_there_again():
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
def test_a_program_that_handles_it_goes_on(ordered):
    """`except KeyboardInterrupt:` around a training loop, and then evaluate and save."""
    step = jax.jit(lambda w: (jax.debug.print("step {}", w, ordered=ordered), w * 0.5)[1])
    with jdw.capture() as run:
        w = step(jnp.float32(8))
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        w = step(w)
        assert float(step(w)) == 1
    assert [event.text for event in run.events] == ["step 8.0", "step 4.0", "step 2.0"]
    assert run.status().state == "done"


def test_a_handler_of_the_programs_own_only_takes_a_note():
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


def test_a_handler_that_is_set_in_the_capture_too():
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


class OutOfTimeError(Exception):
    pass


@pytest.fixture
def time_limit():
    """A handler of SIGALRM that raises, as those that limit the time of a test or of a training do."""

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
def test_what_a_handler_raises_while_a_program_is_prepared_is_the_programs(name, monkeypatch):
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
def test_of_several_signals_each_is_handled():
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
    """That of a loader of data, which was forked in the capture."""
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
