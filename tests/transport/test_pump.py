"""Test that the pump ticks until all work is done, whatever a tick does."""

from __future__ import annotations

import contextvars
import logging
import threading
import time

from jax_debug_widgets.transport import Pump
from jax_debug_widgets.transport.pump import HZ, LONGEST_PAUSE_S

PATIENCE = 20


def test_the_pump_ticks_until_a_tick_returns_none():
    ticks, over = [], threading.Event()

    def tick():
        ticks.append(threading.current_thread())
        if len(ticks) == 3:
            over.set()
        return 0.0 if len(ticks) < 3 else None

    pump = Pump(tick, hz=1000)
    pump.start()
    assert over.wait(PATIENCE)
    pump._thread.join(PATIENCE)
    assert len(ticks) == 3
    assert not pump.running
    assert threading.current_thread() not in ticks


def test_the_pump_does_not_tick_after_stop():
    ticked = threading.Event()
    pump = Pump(lambda: ticked.set() or 0.0, hz=1000)
    pump.start()
    assert ticked.wait(PATIENCE)
    pump.stop()
    assert not pump.running


def test_stop_lets_the_tick_that_is_under_way_end():
    begun, go, ended = threading.Event(), threading.Event(), threading.Event()

    def tick():
        begun.set()
        assert go.wait(PATIENCE)
        ended.set()
        return 0.0

    pump = Pump(tick, hz=1000)
    pump.start()
    assert begun.wait(PATIENCE)
    threading.Timer(0.05, go.set).start()
    pump.stop()
    assert ended.is_set()


def test_a_tick_may_stop_its_own_pump():
    stopped = threading.Event()

    def tick():
        pump.stop()
        stopped.set()
        return 0.0

    pump = Pump(tick, hz=1000)
    pump.start()
    assert stopped.wait(PATIENCE)
    pump._thread.join(PATIENCE)
    assert not pump.running


def test_a_tick_that_raises_is_reported_a_few_times_and_tried_for_ever(caplog):
    ticks, enough = [], threading.Event()

    def tick():
        ticks.append(None)
        if len(ticks) == 20:
            enough.set()
        msg = "the comm is closed"
        raise RuntimeError(msg)

    pump = Pump(tick, hz=1000)
    with caplog.at_level(logging.ERROR):
        pump.start()
        assert enough.wait(PATIENCE)
        pump.stop()
    assert 1 <= len(caplog.records) <= 5
    assert "the comm is closed" in caplog.text


def test_a_tick_that_works_again_makes_the_next_failure_worth_reporting(caplog):
    ticks, enough = [], threading.Event()

    def tick():
        ticks.append(None)
        if len(ticks) == 20:
            enough.set()
        if len(ticks) % 10:
            raise RuntimeError
        return 0.0

    pump = Pump(tick, hz=1000)
    with caplog.at_level(logging.ERROR):
        pump.start()
        assert enough.wait(PATIENCE)
        pump.stop()
    assert len(caplog.records) >= 6


def seconds_of(count, tick, hz=HZ):
    """Return the time from the first to the last of this many ticks; `tick` returns how long it wants no other."""
    starts, enough = [], threading.Event()

    def counted():
        starts.append(time.monotonic())
        wanted = tick()
        if len(starts) < count:
            return wanted
        enough.set()
        return None

    pump = Pump(counted, hz)
    pump.start()
    assert enough.wait(PATIENCE)
    return starts[-1] - starts[0]


def test_the_pump_ticks_at_most_at_its_rate():
    assert seconds_of(6, lambda: 0.0) >= 5 / HZ * 0.95


def test_ticks_that_take_long_come_seldom():
    def tick():
        until = time.thread_time() + 0.01
        while time.thread_time() < until:
            pass
        return 0.0

    assert seconds_of(4, tick, hz=1000) >= 3 * (0.01 + LONGEST_PAUSE_S) * 0.95


def test_a_tick_that_wants_a_longer_pause_has_it():
    assert seconds_of(4, lambda: 0.05, hz=1000) >= 3 * 0.05 * 0.95


def test_the_pump_ticks_in_the_context_in_which_it_was_made():
    cell = contextvars.ContextVar("cell", default="none")
    found, done = [], threading.Event()

    def tick():
        found.append(cell.get())
        cell.set("changed by the tick")
        if len(found) == 2:
            done.set()
        return 0.0 if len(found) < 2 else None

    cell.set("In [7]")
    pump = Pump(tick, hz=1000)
    cell.set("In [8]")
    pump.start()
    assert done.wait(PATIENCE)
    assert found == ["In [7]", "In [7]"]
