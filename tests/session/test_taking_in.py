"""Test when events are taken in during a run: often for a panel or at a high rate, otherwise rarely."""

from __future__ import annotations

import math

import jax
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets.session import recording
from tests.waiting import until


@jax.jit
def said(count):
    lax.fori_loop(0, count, lambda i, _: jax.debug.print("{i}", i=i), None)


def fire(count):
    said(count)
    jax.effects_barrier()


@pytest.fixture
def looks(monkeypatch):
    """Return a list with each answer to the question whether taking in can wait; by the clock it always can."""
    answers: list[bool] = []
    can_wait = recording.Recording._can_wait

    def asked(self):
        answers.append(can_wait(self))
        return answers[-1]

    monkeypatch.setattr(recording, "_UNSEEN_S", math.inf)
    monkeypatch.setattr(recording.Recording, "_can_wait", asked)
    return answers


def test_firings_are_collected_without_a_panel():
    with jdw.capture() as run:
        fire(1)
        until(lambda: len(run.store) == 1)


def test_few_firings_wait_if_no_panel_shows_the_run(looks):
    with jdw.capture() as run:
        fire(3)
        seen = len(looks)
        until(lambda: len(looks) >= seen + 3)
        assert len(run.store) == 0
        assert len(run.events) == 3  # Reading the events takes them in.
    assert all(looks)


def test_many_firings_are_collected_at_once(looks):
    with jdw.capture() as run:
        fire(recording._MUCH)
        until(lambda: len(run.store) > 0)
    assert not all(looks)


def test_firings_do_not_wait_if_a_panel_shows_the_run(looks):
    with jdw.capture() as run:
        run.panel  # noqa: B018 - opens it
        fire(3)
        until(lambda: len(run.store) == 3)
    assert not any(looks[1:])


def wanted_pauses(monkeypatch):
    """Return a list with the answer of each tick."""
    pauses: list[float | None] = []
    tick = recording.Recording._tick

    def noted(self):
        pauses.append(tick(self))
        return pauses[-1]

    monkeypatch.setattr(recording.Recording, "_tick", noted)
    return pauses


def test_ticks_are_rarer_without_a_panel_or_without_news(monkeypatch):
    pauses = wanted_pauses(monkeypatch)
    with jdw.capture() as run:
        until(lambda: recording._UNSEEN_PAUSE_S in pauses)
        assert 0.0 not in pauses
        run.panel  # noqa: B018 - opens it
        until(lambda: 0.0 in pauses)  # The panel has been told the state.
        until(lambda: pauses[-1] == recording._IDLE_PAUSE_S)
        told = pauses.count(0.0)
        fire(1)
        until(lambda: pauses.count(0.0) > told)
    assert pauses[-1] is None
