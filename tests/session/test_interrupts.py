"""An interrupt that comes while events are taken in loses none of them."""

from __future__ import annotations

import os
import signal

import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.session.uninterrupted import uninterrupted


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
