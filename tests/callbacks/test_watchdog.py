"""Test a host function that does not return: the run says which, where, since when, on which thread, and why."""

from __future__ import annotations

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.taps.stuck import standstill
from tests.devices import cpu_pmap
from tests.waiting import PATIENCE, until


class Gate:
    """A host function that waits until the test releases it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.lock.acquire()
        self.ident = None

    def host(self, x):
        self.ident = threading.get_ident()
        with self.lock:
            return np.asarray(x)


@pytest.mark.behaviour("C6")
def test_a_stuck_callback_is_named_until_it_returns():
    gate = Gate()
    program = cpu_pmap(lambda x: (jax.debug.callback(gate.host, x), x)[1], 1)
    looked = []

    def look(run):
        try:
            looked.append(until(lambda: [note for note in run.status().notes if "has been running" in note]))
        finally:
            gate.lock.release()

    with jdw.capture(stuck_after=0.05) as run:
        watcher = threading.Thread(target=look, args=(run,))
        watcher.start()
        program(jnp.arange(1.0))
        jax.effects_barrier()
        watcher.join()
    ((note,),) = looked
    assert note.startswith("Gate.host (debug callback at test_watchdog.py:")
    assert "for more than 0.05 s" in note
    assert ("main thread" if gate.ident == threading.main_thread().ident else str(gate.ident)) in note
    line = Gate.host.__code__.co_firstlineno + 2
    assert f"It is in Gate.host at test_watchdog.py:{line}: it waits for a lock" in note
    assert not any("has been running" in note for note in run.status().notes), "cleared when it returned"
    assert run.callbacks["Gate.host"].returned == 1


@pytest.mark.behaviour("C6")
def test_a_call_that_is_under_way_is_counted():
    gate = Gate()
    with jdw.capture(barrier=False) as run:
        thread = threading.Thread(target=jax.jit(lambda x: jax.pure_callback(gate.host, x, x)), args=(1.0,))
        assert run.callbacks.stuck() == []
        gate.lock.release()
        thread.start()
        thread.join()
    assert run.barrier(20)
    assert run.callbacks["Gate.host"].returned == 1, "a thread that the capture's own starts is captured with it"


def waits_for_event(started, gate):
    started.set()
    gate.wait()


def computes(started, gate):
    started.set()
    while not gate.is_set():
        pass


REASONS = {waits_for_event: "waits for a lock or another thread", computes: "is still computing"}


@pytest.mark.behaviour("C6")
@pytest.mark.parametrize("function", REASONS, ids=lambda function: function.__name__)
def test_the_reason_is_read_off_the_stack(function):
    started, gate = threading.Event(), threading.Event()
    thread = threading.Thread(target=function, args=(started, gate))
    thread.start()
    assert started.wait(PATIENCE)
    found = until(lambda: (f := standstill(thread.ident)) and f.function == function.__qualname__ and f)
    gate.set()
    thread.join()
    assert found.file == __file__
    assert REASONS[function] in found.reason
    assert standstill(thread.ident) is None


@pytest.mark.behaviour("C6")
def test_a_note_says_that_a_function_waits_for_jax():
    gate, started = threading.Event(), threading.Event()

    def slow(x):
        assert gate.wait(PATIENCE)
        return np.asarray(x)

    pending = cpu_pmap(lambda x: jax.pure_callback(slow, x, x), 2)(jnp.arange(2.0))

    def host():
        started.set()
        return float(pending[0])

    thread = threading.Thread(target=host)
    thread.start()
    assert started.wait(PATIENCE)
    found = until(
        lambda: (f := standstill(thread.ident)) and f.function.endswith("host") and "calls JAX" in f.reason and f
    )
    gate.set()
    thread.join()
    assert (found.file, found.line) == (__file__, host.__code__.co_firstlineno + 2)
    assert "must use NumPy only" in found.reason


@pytest.mark.behaviour("C6")
def test_the_option_must_be_positive():
    with pytest.raises(ValueError, match="stuck_after must be greater than 0"), jdw.capture(stuck_after=0):
        pass
