"""Test threads that a captured cell starts, and simultaneous captures in several threads."""

from __future__ import annotations

import collections
import queue
import threading
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback
from jax.sharding import PartitionSpec as P

import jax_debug_widgets as jdw
from jax_debug_widgets.events.stamps import Stamps
from jax_debug_widgets.session import current_session
from tests.devices import cpu_mesh
from tests.session.conftest import PATIENCE


def printing(name):
    @jax.jit
    def step(x):
        jax.debug.print(name + " {x}", x=x)
        jax.debug.callback(lambda x: None, x)  # noqa: ARG005 - its name is x
        return x + 1

    return step


def texts(run):
    return sorted(event.text for event in run.events if event.kind == "print")


@pytest.mark.behaviour("P9")
def test_a_thread_that_the_cell_starts_is_captured(capfd):
    step = printing("in a thread")

    def work():
        print("python's own")
        return step(1)

    with jdw.capture() as run:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        step(2)
    assert texts(run) == ["in a thread 1", "in a thread 2"]
    assert run.notes == []
    assert [event.call for event in run.events] == [0, 0, 1, 1]
    assert capfd.readouterr().out == "python's own\n"


def called_at_once():
    """Run a loop of three with 0, then from two threads with 10 and 20, whose iterations wait for each other."""
    alone, both = threading.Barrier(1), threading.Barrier(2)
    together = alone

    @jax.jit
    def loop(x):
        def body(i, x):
            jax.debug.callback(lambda: together.wait(PATIENCE))
            jax.debug.print("call {} at {}", x, i, ordered=True)
            return x

        return lax.fori_loop(0, 3, body, x)

    loop(0)
    together = both
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(loop, (10, 20)))


@pytest.mark.behaviour("P9")
def test_events_of_calls_that_threads_make_at_once_are_given_to_the_call_of_their_thread():
    with jdw.capture() as run:
        called_at_once()
    prints = [event for event in run.events if event.kind == "print"]
    by_value = {value: [event for event in prints if f"call {value} " in event.text] for value in (0, 10, 20)}
    for value, own in by_value.items():
        assert [event.text for event in own] == [f"call {value} at {i}" for i in range(3)]
        assert [event.step for event in own] == [(0,), (1,), (2,)]
        assert len({event.call for event in own}) == 1
    assert {event.call for event in prints} == {0, 1, 2}
    assert [call.events for call in run.calls] == [6, 6, 6]
    assert not run.findings
    assert run.notes == []


def test_simultaneous_calls_are_not_distinguished_if_the_firing_thread_is_unknown(monkeypatch):
    monkeypatch.setattr(Stamps, "threads_of", lambda _stamps, stamps: np.zeros_like(stamps))
    with jdw.capture() as run:
        called_at_once()
    prints = [event for event in run.events if event.kind == "print"]
    assert -1 in {event.call for event in prints}
    assert any("while several threads made calls at the same time" in note for note in run.notes)
    assert not run.findings


@pytest.mark.behaviour("P9")
def test_events_of_calls_that_wait_for_other_programs_are_each_calls_own():
    """XLA runs these calls in threads of its own."""
    silent = jax.jit(lambda z: z @ z * 0.001)
    begin = jax.block_until_ready(silent(jnp.ones((300, 300))))

    @jax.jit
    def loop(x):
        return lax.scan(lambda s, i: (jax.debug.print("call {} at {}", x, i), (s + 1, None))[1], x, jnp.arange(3))[0]

    start = threading.Barrier(2)

    def call(number):
        start.wait(PATIENCE)
        z, wrong = begin, 0
        for i in range(40):
            wrong += int(loop(100.0 * number + i)) != 100 * number + i + 3
            z = silent(z)
        return wrong

    with jdw.capture() as run, ThreadPoolExecutor(2) as pool:
        assert list(pool.map(call, range(2))) == [0, 0]
    assert len(run.events) == 2 * 40 * 3
    by_call = collections.defaultdict(list)
    for event in run.events:
        by_call[event.call].append((float(event.values[0]), event.step))
    doubtful = by_call.pop(-1, [])
    assert all(len(own) == 3 and len({value for value, _ in own}) == 1 for own in by_call.values())
    told = [sorted(step for _, step in own) for own in by_call.values()]
    assert all(steps in ([(0,), (1,), (2,)], [()] * 3) for steps in told)
    assert any("while several threads made calls at the same time" in note for note in run.notes) or (
        not doubtful and [()] * 3 not in told
    )
    assert len(by_call) > 40, "calls come one after the other where they are seen to run elsewhere"


def on_all_devices(function):
    """Return a jitted function of a number that runs `function` once on each device."""
    mesh = cpu_mesh((len(jax.devices("cpu")),), ("data",))
    return jax.jit(jax.shard_map(function, mesh=mesh, in_specs=P(), out_specs=P(), check_vma=False))


@pytest.mark.behaviour("P9")
@pytest.mark.parametrize("kind", ["print", "io"])
def test_events_of_calls_that_threads_make_of_a_program_on_several_devices_are_each_calls_own(kind):
    def body(i, x):
        if kind == "print":
            jax.debug.print("call {} at {}", x, i)
        else:
            io_callback(lambda _x, _i: None, None, x, i)
        return x

    @on_all_devices
    def loop(x):
        return lax.pmax(lax.fori_loop(0, 3, body, x), "data")

    start = threading.Barrier(3)

    def call(number):
        start.wait(PATIENCE)
        return [int(loop(10 * number + i)) for i in range(4)]

    with jdw.capture() as run, ThreadPoolExecutor(3) as pool:
        results = list(pool.map(call, range(3)))
    assert results == [[10 * number + i for i in range(4)] for number in range(3)]
    events = [event for event in run.events if event.kind == kind]
    assert len(events) == 12 * 3 * len(jax.devices("cpu"))
    for made in run.calls:
        own = [event for event in events if event.call == made.id]
        said = collections.Counter((int(event.values[0]), event.step) for event in own)
        assert {step for _, step in said} == {(0,), (1,), (2,)}
        assert len({value for value, _ in said}) == 1
        assert set(said.values()) == {len(jax.devices("cpu"))}
    assert run.notes == []


def test_tasks_of_a_pool_are_captured_even_if_its_threads_are_older():
    step = printing("task")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(abs, range(4)))  # Starts its threads.
        with jdw.capture() as run:
            assert list(pool.map(step, range(6))) == [1, 2, 3, 4, 5, 6]
            assert pool.submit(step, x=6).result() == 7
        leftover = pool.submit(step, 7)
        assert leftover.result() == 8
        jax.effects_barrier()
    assert texts(run) == sorted(f"task {i}" for i in range(7))
    assert len(run.callbacks.calls) == 7
    assert not any("does not capture" in note for note in run.notes)


def test_an_exception_of_a_task_is_unchanged():
    def fail(x):
        raise LookupError(x)

    with jdw.capture(), ThreadPoolExecutor(1) as pool:
        assert isinstance(pool.submit(fail, 3).exception(), LookupError)


def test_two_captures_at_once_keep_their_events_apart():
    step = printing("both")
    both = threading.Barrier(2, timeout=PATIENCE)
    runs = {}

    def capture(number):
        with jdw.capture(title=str(number)) as run:
            both.wait()
            for i in range(20):
                step(100 * number + i)
            both.wait()
        runs[number] = run

    threads = [threading.Thread(target=capture, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, run in runs.items():
        assert texts(run) == sorted(f"both {100 * number + i}" for i in range(20))
        assert len(run.callbacks.calls) == 20
        assert len(run.calls) == 20
        assert {event.call for event in run.events} == set(range(20))
    assert current_session().active is None


def test_a_capture_in_a_thread_of_a_captured_cell_is_its_own():
    step = printing("nested")
    inner = []

    def capture():
        with jdw.capture() as run:
            step(1)
        inner.append(run)
        step(2)

    with jdw.capture() as outer:
        step(0)
        thread = threading.Thread(target=capture)
        thread.start()
        thread.join()
        step(3)
    assert texts(inner[0]) == ["nested 1"]
    assert texts(outer) == ["nested 0", "nested 2", "nested 3"]


def test_a_daemon_thread_runs_as_without_us_and_is_named(capfd):
    step = printing("daemon")
    with jdw.capture() as run:
        thread = threading.Thread(target=lambda: (step(1), jax.effects_barrier()), daemon=True, name="forever")
        thread.start()
        thread.join()
    assert texts(run) == []
    assert any("'forever', which does not capture" in note for note in run.notes)
    assert capfd.readouterr().out == "daemon 1\n"


def test_a_thread_that_outlives_the_capture_keeps_its_taps():
    step, go_on = printing("late"), threading.Event()

    def work():
        assert go_on.wait(PATIENCE)
        step(jnp.arange(2).sum())
        lax.map(step, jnp.arange(2))

    with jdw.capture() as run:
        thread = threading.Thread(target=work)
        thread.start()
    go_on.set()
    thread.join()
    jax.effects_barrier()
    with jdw.capture() as other:
        step(jnp.arange(2).sum())
    assert texts(run) == ["late 0", "late 1", "late 1"]
    assert texts(other) == ["late 1"], "nothing without taps was left in JAX's caches"


def test_python_has_its_own_methods_back():
    start, submit = threading.Thread.start, ThreadPoolExecutor.submit
    with jdw.capture():
        assert threading.Thread.start is not start
    assert threading.Thread.start is start
    assert ThreadPoolExecutor.submit is submit


def test_a_capture_that_ends_in_another_thread_ends_and_says_so():
    step = printing("other")

    def ended_elsewhere():  # It runs in a thread of its own, which stays captured.
        capture = jdw.capture()
        run = capture.__enter__()
        step(1.0)
        with ThreadPoolExecutor(1) as other:
            other.submit(capture.__exit__, None, None, None).result(PATIENCE)
        return run

    with ThreadPoolExecutor(1) as thread:
        run = thread.submit(ended_elsewhere).result(PATIENCE)
    assert run.status().state == "done"
    assert texts(run) == ["other 1.0"]
    assert any("ended in another thread" in note for note in run.status().notes)


@pytest.mark.parametrize("later", [{}, {"echo": True}], ids=["alike", "echoing"])
def test_events_of_a_thread_after_its_capture_belong_to_that_capture(later):
    given, told = queue.Queue(), queue.Queue()

    @jax.jit
    def f(x):
        jax.debug.print("{}", x)
        jax.debug.callback(lambda _: None, x)
        return x + 1

    def background():
        while (x := given.get()) is not None:
            f(x)
            jax.effects_barrier()
            told.put(x)

    def turn(x):
        given.put(x)
        assert told.get(timeout=60) == x

    with jdw.capture() as first:
        thread = threading.Thread(target=background)
        thread.start()
        turn(10)
    turn(20)
    with jdw.capture(**later) as second:
        f(-1)
        turn(30)
    turn(40)
    given.put(None)
    thread.join()
    prints = lambda run: [(event.text, event.call) for event in run.events if event.kind == "print"]  # noqa: E731
    assert prints(first) == [("10", 0), ("20", 1), ("30", 2), ("40", 3)]
    assert prints(second) == [("-1", 0)]
    assert [call.state for call in first.calls] == ["drained"] * 4
    assert [len(run.callbacks.calls) for run in (first, second)] == [4, 1]
    assert first.findings == second.findings == []
    with jdw.capture() as third:  # No thread is in that capture any more, so its executables are used again.
        f(5)
    assert third.box == first.box
    assert third.calls[0].trace is None
