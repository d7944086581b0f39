"""Test a capture that begins while calls of an outer one are in flight."""

from __future__ import annotations

import gc
import threading

import jax
import jax.numpy as jnp

import jax_debug_widgets as jdw
from jax_debug_widgets.session import current_session

X = jnp.ones((400, 400))


def make():
    program = jax.jit(lambda x, k: (jax.debug.print("{}", k), x @ x * 1e-3)[1])
    with jdw.capture():
        jax.block_until_ready(program(X, -1))
    return program


def said(run):
    return [(int(event.text), event.call) for event in run.events]


def test_nested_captures_have_their_own_events_and_calls():
    program, x = make(), X
    with jdw.capture() as outer:
        for k in range(5):
            x = program(x, k)
        with jdw.capture() as inner:
            for k in range(5):
                x = program(x, 10 + k)
    assert said(outer) == [(k, k) for k in range(5)]
    assert said(inner) == [(10 + k, k) for k in range(5)]
    assert not outer.findings


def test_a_capture_in_another_thread_has_its_own_events_and_calls():
    program, runs = make(), []

    def work():
        x = X
        with jdw.capture() as run:
            for k in range(5):
                x = program(x, 10 + k)
        runs.append(run)

    with jdw.capture() as main:
        x, thread = X, threading.Thread(target=work)
        thread.start()
        for k in range(10):
            x = program(x, k)
        thread.join()
    assert said(main) == [(k, k) for k in range(10)]
    assert said(runs[0]) == [(10 + k, k) for k in range(5)]


def test_a_capture_that_the_garbage_collector_closes_inside_ours_ends_with_the_next(monkeypatch):
    def opened():
        with jdw.capture() as run:
            yield run

    cycle = [opened()]
    run, seen = next(cycle[0]), []
    cycle.append(cycle)
    collector = current_session().collector
    make_room = collector.make_room

    def collecting(one):  # The caller holds a lock.
        if not seen:
            gc.collect()
            seen.append(repr(run))
        make_room(one)

    monkeypatch.setattr(collector, "make_room", collecting)
    del cycle
    with jdw.capture() as other:
        pass
    assert "done" not in seen[0] and "done" in repr(run) and "done" in repr(other)


def test_a_generator_that_is_closed_ends_its_capture_at_once():
    def opened():
        with jdw.capture() as run:
            yield run

    generator = opened()
    run = next(generator)
    generator.close()
    assert "done" in repr(run)


def test_a_capture_in_a_callback_does_not_wait_for_the_call_that_runs_the_callback():
    program, runs = make(), []

    def work(_k):
        with jdw.capture() as run:
            for i in range(5):
                program(X, 10 + i)
        runs.append(run)
        jdw.last().barrier()

    @jax.jit
    def calling(x, k):
        jax.debug.print("{}", k)
        jax.debug.callback(work, k)
        return x + 1

    with jdw.capture(timeout=None) as outer:
        for k in range(3):
            calling(X, k)
            assert not runs[k].call_log.pending()
            outer.barrier()
    assert [said(run) for run in runs] == [[(10 + i, i) for i in range(5)]] * 3
    assert [event.call for event in outer.events if event.site.kind == "print"] == [0, 1, 2]
    assert [call.state for call in outer.calls] == ["drained"] * 3
