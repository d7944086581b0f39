"""Test large amounts: large arrays, and a million events in one capture."""

from __future__ import annotations

import os
import threading
from typing import Self

import jax
import jax.numpy as jnp
import numpy as np
import psutil
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets.store.segment import Segment

LARGE = (16 << 20,)
NBYTES = 4 * LARGE[0]
BUDGET_MB = 256


class PeakMemory:
    """Measures the peak memory of this process, in bytes above that at the beginning."""

    def __enter__(self) -> Self:
        self.peak = 0
        self._over = threading.Event()
        process = psutil.Process(os.getpid())
        before = process.memory_info().rss

        def watch():
            while not self._over.wait(0.002):
                self.peak = max(self.peak, process.memory_info().rss - before)

        self._thread = threading.Thread(target=watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def saying(say, steps):
    @jax.jit
    def program(x):
        def step(x, i):
            say(x)
            jax.debug.print("step {i}", i=i)
            return x + 1, None

        return lax.scan(step, x, jnp.arange(steps))[0]

    return program


@pytest.mark.parametrize(
    ("say", "steps"),
    [(lambda x: jax.debug.print("x {}", x), 40), (lambda x: jax.debug.callback(lambda v: float(v[0]), x), 12)],
    ids=["print", "callback"],
)
def test_arrays_of_64_mb_do_not_pin_more_than_the_budget(say, steps):
    program, zeros = saying(say, steps), jnp.zeros(LARGE)
    with jdw.capture(max_mb=BUDGET_MB) as run, PeakMemory() as memory:
        jax.block_until_ready(program(zeros))
        jax.effects_barrier()
        run.collect()
    # Beside the kept arrays: two copies of the loop, one that XLA passes on, one for the callback, the one that
    # it replaces, and memory that the allocator has not returned yet.
    assert memory.peak <= (BUDGET_MB << 20) + 6 * NBYTES, memory.peak >> 20
    large, small = (next(site for site in run.sites if bool(site.label == "i") == is_step) for is_step in (False, True))
    seen, dropped = run.store.seen_by_site(), run.store.dropped_by_site()
    assert seen == {large.id: steps, small.id: steps}
    assert run.dropped == sum(dropped.values())
    assert steps - dropped[large.id] == sum(event.site is large for event in run.events) >= 2
    last = [event for event in run.events if event.site is large][-1]
    assert (last.step, float(last.values[0][-1])) == ((steps - 1,), steps - 1)
    assert run.findings == [], "what was let go of has fired"
    assert run.status().dropped_by_site[large.id] == dropped[large.id]


def test_a_million_events_in_one_capture_are_kept_within_the_budget():
    count = 1_000_000

    @jax.jit
    def program(x):
        def step(x, _):
            jax.debug.print("x {x}", x=x)
            return x + 1, None

        return lax.scan(step, x, None, length=count)[0]

    with jdw.capture(max_mb=BUDGET_MB) as run, PeakMemory() as memory:
        program(jnp.int32(0))
    assert len(run.events) == count
    assert run.dropped == 0
    assert run.store.nbytes <= BUDGET_MB << 20
    assert memory.peak <= BUDGET_MB << 20
    steps, values = run.series("x")
    assert np.array_equal(values, np.arange(count))
    assert np.array_equal(steps, np.arange(count))
    assert run.events[-1].step == (count - 1,)
    assert run.findings == []


def test_beyond_the_budget_the_oldest_go_and_are_counted():
    @jax.jit
    def program(x):
        def step(x, _):
            jax.debug.print("x {x}", x=x)
            return x + 1, None

        return lax.scan(step, x, None, length=200_000)[0]

    with jdw.capture(max_mb=2) as run:
        program(jnp.int32(0))
    kept = len(run.events)
    assert 0 < kept < 200_000
    assert kept + run.dropped == 200_000
    assert run.store.nbytes <= 2 << 20
    assert run.series("x")[1].tolist() == list(range(200_000 - kept, 200_000))


def test_a_frame_is_made_by_columns(monkeypatch):
    @jax.jit
    def program(x):
        def step(x, i):
            jax.debug.print("{i} and {:.3f}", x, i=i)
            return x * 1.5, None

        return lax.scan(step, x, jnp.arange(20_000))[0]

    with jdw.capture() as run:
        program(jnp.float32(0.1))
    one_by_one = [event.text for event in run.events[:500]]
    monkeypatch.setattr(Segment, "event", lambda *_: pytest.fail("an event was made by itself"))
    frame = run.to_pandas()
    assert len(frame) == 20_000
    assert frame["text"][:500].tolist() == one_by_one
