"""An interrupt that comes while events are taken in loses none of them."""

from __future__ import annotations

import os
import signal

import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.session.interrupts import uninterrupted


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
