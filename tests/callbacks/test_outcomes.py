"""Test what is recorded of each call of a host function: result, time, thread, exception with its own traceback."""

from __future__ import annotations

import threading
import time
import traceback

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.running import dispatch
from jax_debug_widgets.session import current_session
from jax_debug_widgets.taps.results import Results
from tests.callbacks.bodies import like
from tests.devices import cpu_pmap


class OwnError(Exception):
    """An exception of a user's host function."""


def check(x):
    value = float(x)
    if value == 2:
        return reject(value)
    return np.float32(value)


def reject(value):
    raise OwnError(f"{value} is too many")


CALLS = {
    "debug": lambda host: lambda x: (jax.debug.callback(host, x), x)[1],
    "io": lambda host: lambda x: io_callback(host, like(x), x),
    "ordered io": lambda host: lambda x: io_callback(host, like(x), x, ordered=True),
    "pure": lambda host: lambda x: jax.pure_callback(host, like(x), x),
}


def raised_by(program):
    with pytest.raises(Exception) as caught:  # noqa: PT011, PT012 - which one, and from where, is compared.
        program()
        jax.effects_barrier()
    dispatch.forget_failed_tokens()  # An ordered call after a failed one would fail without calling the host.
    # The rest of the message is the trace of JAX's own frames.
    return type(caught.value), [line for line in str(caught.value).splitlines() if "too many" in line]


@pytest.mark.behaviour("C6")
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_an_exception_is_jaxs_and_its_own_traceback_is_kept(call, wrap, capfd):
    program = wrap(CALLS[call](check))
    expected = raised_by(lambda: program(2.0))
    with jdw.capture() as run:
        assert raised_by(lambda: program(2.0)) == expected
    assert expected[1]
    (summary,) = run.callbacks
    assert (summary.calls, summary.returned, summary.raised) == (1, 0, 1)
    assert type(summary.error) is OwnError
    frames = traceback.extract_tb(summary.error.__traceback__)
    assert [frame.name for frame in frames][-2:] == ["check", "reject"]
    shown = summary.traceback.splitlines()
    assert shown[0] == "Traceback (most recent call last):"
    assert [line.split(", in ")[1] for line in shown if ", in " in line] == ["check", "reject"]
    assert shown[-1].endswith("OwnError: 2.0 is too many")
    assert run.callbacks.calls[0].traceback == summary.traceback
    (note,) = [note for note in run.status().notes if "raised" in note]
    line = reject.__code__.co_firstlineno + 1
    assert f"raised OwnError: 2.0 is too many in reject at test_outcomes.py:{line}" in note
    capfd.readouterr()


@pytest.mark.behaviour("C6")
def test_a_loop_reports_the_calls_before_the_one_that_raised(capfd):
    def f(x):
        return jax.lax.fori_loop(0, 5, lambda i, x: x + io_callback(check, like(x), jnp.float32(i), ordered=True), x)

    with jdw.capture() as run:
        assert raised_by(lambda: jax.jit(f)(0.0))[1]
    assert [float(call.result[0]) if call.result else call.raised for call in run.callbacks.calls] == [
        0.0,
        1.0,
        "OwnError: 2.0 is too many",
    ]
    assert run.callbacks["check"].raised == 1
    capfd.readouterr()


@pytest.mark.behaviour("C6")
@pytest.mark.parametrize("call", CALLS)
def test_results_times_and_threads_are_reported(call):
    def host(x):
        ended.append(time.perf_counter_ns())
        return np.asarray(x) * np.float32(3)

    ended = []
    program = jax.jit(lambda x: jax.lax.fori_loop(0, 4, lambda _, x: CALLS[call](host)(x) + 1, x))
    with jdw.capture() as run:
        jax.block_until_ready(program(1.0))
        jax.effects_barrier()
    calls = run.callbacks.calls
    assert len(calls) == 4
    for one, event, end in zip(calls, run.events, ended, strict=True):
        assert event.time_ns <= one.started_ns <= end - run.life.origin_ns <= one.started_ns + one.duration_ns
        assert run.callbacks.call_of(event) is one
        expected = () if call == "debug" else (3 * event.values[0],)
        assert one.result == expected
    (summary,) = run.callbacks
    durations = [one.seconds for one in calls]
    assert summary.total == pytest.approx(sum(durations))
    assert summary.mean == pytest.approx(sum(durations) / 4)
    assert summary.longest == max(durations)
    assert sum(summary.threads.values()) == 4


@pytest.mark.behaviour("C6")
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_lanes_that_a_vmap_has_not_come_to_when_one_raises_have_no_events(wrap, capfd):
    called = []

    def host(x, y):
        called.append((float(x), float(y)))
        if y == 11 and x == 2:
            raise OwnError("too many")

    f = wrap(jax.vmap(jax.vmap(lambda x, y: jax.debug.callback(host, x, y), in_axes=(0, None)), in_axes=(None, 0)))
    x, y = jnp.arange(4.0), 10 + jnp.arange(3.0)
    expected = raised_by(lambda: f(x, y))
    called.clear()
    with jdw.capture() as run:
        for _ in range(2):
            assert raised_by(lambda: f(x, y)) == expected
    told = [tuple(float(value) for value in event.values) for event in run.events]
    assert told == called
    assert called.count((2.0, 11.0)) == 2
    assert len(called) < 2 * 12
    assert [event.lane for event in run.events] == [(int(y) - 10, int(x)) for x, y in told]
    assert run.to_pandas()["lane"].tolist() == [event.lane for event in run.events]
    assert [event.occurrence for event in run.events] == [number for number in range(2) for _ in called[::2]]
    ended = [run.callbacks.call_of(event) for event in run.events]
    assert [call.error is not None for call in ended] == [(x, y) == (2, 11) for x, y in called]
    assert [call.lane for call in ended] == [event.lane for event in run.events]
    capfd.readouterr()


@pytest.mark.behaviour("P6")
@pytest.mark.parametrize("every", [1, 3])
def test_each_lane_of_a_callback_in_a_loop_has_its_step_its_time_and_its_phantoms(every):
    called = []

    def lane(x):
        def body(x, i):
            jax.debug.callback(lambda *told: called.append(tuple(map(int, told))), x, i)
            jax.lax.cond(x > 1, lambda: jax.debug.callback(lambda *_: None, x, i), lambda: None)
            return x, None

        return jax.lax.scan(body, x, jnp.arange(4))[0]

    with jdw.capture(every=every) as run:
        jax.jit(jax.vmap(lane))(jnp.arange(3))
    whole, branch = (
        [event for event in run.events if event.site.where == site.where]
        for site in sorted({event.site.where: event.site for event in run.events}.values(), key=lambda one: one.where)
    )
    steps = range(0, 4, every)
    told = [tuple(map(int, event.values)) for event in whole]
    assert told == [(x, i) for i in steps for x in range(3)]
    assert [(*event.lane, *event.step) for event in whole] == told
    assert [event.occurrence for event in whole] == [i for i in steps for _ in range(3)]
    assert [event.phantom for event in branch] == [x <= 1 for _ in steps for x in range(3)]
    times = [event.time_ns for event in whole]
    assert sorted(set(times)) == times
    assert len(called) == 4 * 3
    assert [finding for finding in run.findings if finding.kind != "phantom"] == []


@pytest.mark.behaviour("C6")
def test_calls_on_xlas_threads_are_distinguished_from_the_main_thread():
    seen = {}

    def host(x):
        seen[int(x)] = threading.get_ident()

    program = cpu_pmap(lambda x: (jax.debug.callback(host, x), x)[1], 4)
    with jdw.capture() as run:
        jax.block_until_ready(program(jnp.arange(4)))
        jax.effects_barrier()
    main = threading.main_thread().ident
    expected = {"main" if ident == main else f"XLA {ident}" for ident in seen.values()}
    assert set(run.callbacks[0].threads) == expected
    assert sum(run.callbacks[0].threads.values()) == 4


@pytest.mark.behaviour("C6")
def test_a_callback_that_calls_back_itself_is_reported_with_both_calls():
    inner = jax.jit(lambda x: (jax.debug.callback(lambda _: None, x), x)[1])

    def outer(x):
        inner(np.asarray(x))

    with jdw.capture() as run:
        jax.debug.callback(outer, 1.0)
        jax.effects_barrier()
    assert sorted(summary.calls for summary in run.callbacks) == [1, 1]
    assert current_session().capture.box(0).outcomes.running() == []


@pytest.mark.behaviour("C6")
def test_a_wrong_shape_is_jaxs_error_and_the_call_has_returned():
    def program():
        jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(lambda _: np.ones(3, np.float32), like(x), x))(1.0))

    with pytest.raises(Exception, match="Incorrect output shape") as plain:
        program()
    with jdw.capture() as run, pytest.raises(type(plain.value), match="Incorrect output shape"):
        program()
    assert run.callbacks.calls[0].result[0].shape == (3,)


@pytest.mark.behaviour("C6")
def test_results_of_callbacks_are_kept_within_a_bound_and_all_calls_are_counted():
    def host(x):
        return np.full(1 << 16, x, np.float32)

    shape = jax.ShapeDtypeStruct((1 << 16,), jnp.float32)
    program = jax.jit(lambda x: jax.pure_callback(host, shape, x).sum())
    with jdw.capture(max_mb=8) as run:
        for _ in range(20):
            jax.block_until_ready(program(1.0))
    assert run.callbacks["host"].calls == 20
    kept = run.callbacks.calls
    assert [call.number for call in kept] == list(range(20))[-len(kept) :]
    assert sum(call.result[0].nbytes for call in kept if call.result) <= 2 << 20


@pytest.mark.behaviour("C1")
def test_summaries_are_a_table_in_text_and_html():
    with jdw.capture() as run:
        jax.jit(CALLS["pure"](check))(1.0)
    assert "check" in repr(run.callbacks)
    assert "<table" in run.callbacks._repr_html_()
    with pytest.raises(KeyError, match="there are: check"):
        run.callbacks["chekc"]


def returns_one_buffer(shape):
    """Return a function that fills the same array each time, and one that returns a read-only view of it."""
    filled = np.zeros(shape, np.float32)

    def host(x):
        filled[...] += np.asarray(x)
        return filled

    def shown(x):
        return np.broadcast_to(host(x), filled.shape)

    return host, shown


@pytest.mark.behaviour("C6")
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("which", [0, 1], ids=["writable", "shown"])
@pytest.mark.parametrize("shape", [(), (3,), (100, 100)])
def test_returned_arrays_that_are_overwritten_later_are_kept_as_they_were(wrap, which, shape):
    host = returns_one_buffer(shape)[which]
    program = wrap(lambda x: io_callback(host, jax.ShapeDtypeStruct(shape, jnp.float32), x, ordered=True))
    with jdw.capture() as run:
        given = [np.asarray(program(jnp.float32(1))) for _ in range(4)]
    for number, (call, array) in enumerate(zip(run.callbacks.calls, given, strict=True), 1):
        np.testing.assert_array_equal(call.result[0], array)
        assert array.max() == number


@pytest.mark.behaviour("C6")
def test_a_read_only_result_is_kept_without_a_copy():
    results = Results()
    array = np.asarray(jnp.ones((100, 100)))
    (kept,) = results.keep([array]).take()
    assert kept is array


@pytest.mark.behaviour("C6")
def test_results_that_wait_are_within_a_limit_and_the_newest_are_kept():
    results = Results()
    results.limit = 10 * 4096
    kept = [results.keep([np.full(1024, number, np.float32)]) for number in range(20)]
    assert results.keep([np.zeros(6 * 1024, np.float32)]).is_empty  # This array alone is more than half of the budget.
    taken = [returned.take() for returned in kept]
    assert [array is None for array in taken] == [True] * 10 + [False] * 10
    assert [array[0][0] for array in taken[10:]] == list(range(10, 20))
    results.settle()
    assert not any(results.keep([np.zeros(1024, np.float32)]).is_empty for _ in range(10))


@pytest.mark.behaviour("C6")
def test_a_note_says_that_single_calls_are_no_longer_kept(monkeypatch):
    monkeypatch.setattr("jax_debug_widgets.session.run.callbacks.MAX_HOST_CALLS", 3)
    program = jax.jit(lambda x: io_callback(check, like(x), x))
    with jdw.capture() as run:
        for _ in range(3):
            program(1.0)
        assert not any("run.callbacks.calls" in note for note in run.notes)
        program(1.0)
    assert [call.number for call in run.callbacks.calls] == [1, 2, 3]
    assert run.callbacks["check"].calls == 4
    assert any("run.callbacks.calls" in note for note in run.notes)


DTYPE = "is not a valid JAX array type"
"""What JAX says of a dtype that no array has. JAX 0.8 compares the shapes and dtypes first."""

WRONG = {
    "shape": (lambda _: np.zeros(4, np.float32), "Incorrect output shape for return value #0"),
    "dtype": (lambda _: np.zeros(3, np.int32), "Incorrect output dtype for return value #0"),
    "number": (lambda x: (x, x), "Mismatched number of outputs from callback"),
    "text": (lambda _: "a", DTYPE if jax.__version_info__ >= (0, 9) else "Incorrect output shape for return value #0"),
    "text of that shape": (
        lambda _: np.full(3, "a"),
        DTYPE if jax.__version_info__ >= (0, 9) else "Incorrect output dtype for return value #0",
    ),
}


@pytest.mark.behaviour("C6")
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("call", ["io", "pure"])
@pytest.mark.parametrize("wrap", [jax.jit, lambda f: lambda x: jax.lax.map(f, x[None])], ids=["jit", "scan"])
def test_a_callback_whose_result_jax_rejects_counts_as_raised(wrong, call, wrap, capfd):
    host, why = WRONG[wrong]
    x = jnp.ones(3, jnp.float32)
    with jdw.capture() as run, pytest.raises(Exception, match=why) as raised:
        jax.block_until_ready(wrap(CALLS[call](host))(x))
    (summary,) = run.callbacks
    assert (summary.calls, summary.returned, summary.raised) == (1, 0, 1)
    (made,) = run.callbacks.calls
    told = made.raised.removeprefix("RejectedResultError: ")
    assert told.rstrip(".") in str(raised.value) and "returned what JAX rejects" in repr(made)
    assert any(f"returned what JAX rejects: {told}" in note for note in run.notes)
    capfd.readouterr()  # XLA also writes the error.


@pytest.mark.parametrize("result", [np.float64(2), 2.0, np.zeros((), np.float64)], ids=repr)
def test_a_callback_whose_result_jax_casts_counts_as_returned(result):
    with jdw.capture() as run:
        assert jax.jit(CALLS["pure"](lambda _: result))(jnp.float32(1)).dtype == np.float32
    assert run.callbacks["<lambda>"].returned == 1
