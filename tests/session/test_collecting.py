"""Test that an error of ours while events are taken in does not end the program that is captured."""

from __future__ import annotations

import jax
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.session import collecting


@jax.jit
def prints(x):
    jax.debug.print("x {x}", x=x)
    return 2 * x


@pytest.fixture
def faulty(monkeypatch):
    """Let the taking in of a batch fail once."""
    ingest, failed = collecting._ingest, []

    def fails_once(run, batch):
        if not failed:
            failed.append(batch)
            raise IndexError("a fault of ours")
        ingest(run, batch)

    monkeypatch.setattr(collecting, "_ingest", fails_once)


@pytest.mark.usefixtures("faulty")
def test_the_program_goes_on_and_a_note_says_that_events_are_lost(caplog):
    with jdw.capture() as run:
        assert prints(1.0) == 2
        jax.effects_barrier()
        assert list(run.events) == []
        assert prints(2.0) == 4
        jax.effects_barrier()
    assert [event.text for event in run.events] == ["x 2.0"]
    assert [note for note in run.notes if "IndexError('a fault of ours')" in note and "Some events are lost" in note]
    assert "could not take in the events" in caplog.text


def test_without_a_fault_nothing_is_noted():
    with jdw.capture() as run:
        assert prints(1.0) == 2
        jax.effects_barrier()
    assert [event.text for event in run.events] == ["x 1.0"]
    assert not run.notes
