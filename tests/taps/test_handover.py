"""Test programs without long loops: printed values become results of the program, without any visible difference."""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.passes.packing import Packing
from jax_debug_widgets._jax.passes.result_passing import PassedLine, ReportingProgram
from jax_debug_widgets._jax.running import backlog, handover
from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.call_serializer import CallSerializer
from tests.conftest import mesh
from tests.waiting import PATIENCE, until

X = np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3)


def said(x, name="x"):
    jax.debug.print(name + " {}", x)
    return x * 2


def branch(x):
    return lax.cond(x.sum() > 1, lambda x: said(x, "taken"), lambda x: said(x, "not taken"), x)


def numbers(x):
    """Print values of several dtypes: some of them twice, some in another function, some among arrays."""
    total, count = x.sum(), jnp.int32(x.size) + 0 * x.argmax()
    jax.debug.print("{} {} {} {}", total, x, count, x.max() > 0.5)
    for dtype in (jnp.float16, jnp.bfloat16, jnp.uint8, jnp.complex64, jnp.float8_e5m2):
        jax.debug.print("{}", (total * 3).astype(dtype))
    jax.jit(lambda y: jax.debug.print("inside {} {}", y, -count))(total * 2)
    jax.debug.print("{} {} {} {}", total, 7, count, jnp.isnan(total))
    return total


def of_other_types(x):
    said((x * 10).astype(jnp.bfloat16), "bfloat16")
    said(jax.lax.complex(x, x), "complex")
    jax.debug.print("bool {}, static {}, and {what}", x > 0.5, "text", what=x.sum())
    return x


def layers(x, length):
    x, _ = lax.scan(lambda x, _: (jnp.tanh(x), None), x, length=length)
    return said(x, "after the layers")


def only_says(x):
    jax.debug.print("x {}", x)


def ordered(x):
    jax.debug.print("{}", x, ordered=True)
    return x


def keyed(x):
    key = jax.random.key(0)
    jax.debug.print("key {}", key)
    return said(x + jax.random.normal(key, x.shape))


def beside_a_callback(x):
    jax.debug.callback(lambda _: None, x)
    return said(x)


def without_a_value(x):
    jax.debug.print("here")
    return x


STRAIGHT = {
    "plain": said,
    "twice": lambda x: said(said(x, "first"), "second"),
    "jit in it": lambda x: jax.jit(said)(x) + jax.jit(jax.jit(said))(x + 1),
    "vmap": jax.vmap(said),
    "vmap of vmap": jax.vmap(jax.vmap(said), in_axes=1),
    "a branch under vmap": jax.vmap(branch),
    "grad": jax.grad(lambda x: said(x).sum()),
    "grad of a jitted loss": jax.grad(jax.jit(lambda x: said(x).sum())),
    "hessian": lambda x: jax.hessian(lambda x: (said(x) ** 2).sum())(x[0]),
    "linearize": lambda x: jax.linearize(said, x)[1](x),
    "no result": only_says,
    "other types": of_other_types,
    "single numbers": numbers,
    "single numbers of arrays on several devices": lambda x: numbers(
        jax.device_put(jnp.outer(jnp.arange(8.0), x[0]), NamedSharding(mesh(), P("d")))
    ),
    "a few layers": lambda x: layers(x, 4),
    "split over devices": lambda x: said(
        jax.device_put(jnp.outer(jnp.arange(8.0), x[0]), NamedSharding(mesh(), P("d")))
    ),
    "the same on several devices": lambda x: jax.device_put(said(x), NamedSharding(mesh(), P())),
}
CALLING = {
    "a branch": branch,
    "a loop": lambda x: lax.fori_loop(0, 3, lambda _, x: said(x), x),
    "before a loop of unknown length": lambda x: lax.while_loop(lambda x: x.sum() < 100, lambda x: x * 2, said(x)),
    "beside a long loop": lambda x: layers(x, 1000),
    "ordered": ordered,
    "beside a callback": beside_a_callback,
    "beside a pure callback": lambda x: jax.pure_callback(lambda x: x, jax.typeof(x), said(x)),
    "a key": keyed,
    "much": lambda x: said(jnp.zeros((200, 200), jnp.float32) + x.sum()),
    "without a value": without_a_value,
    "on several devices": jax.shard_map(said, mesh=mesh(), in_specs=P(), out_specs=P()),
}


def told(run):
    return [(event.text, event.lane, event.phase, event.call, event.site) for event in run.events]


@pytest.mark.behaviour("P1", "P3", "P4")
@pytest.mark.parametrize("name", STRAIGHT)
def test_prints_handed_over_as_results_equal_prints_by_host_calls(name, handed, printed, same_bits):
    program = jax.jit(STRAIGHT[name])
    plain, written = printed(lambda: program(X))
    with jdw.capture() as run:
        captured, leaked = printed(lambda: program(X))
    with jdw.capture(echo=True) as calling:
        _, echoed = printed(lambda: program(X))
    assert len(handed) == 1
    assert same_bits(plain, captured)
    assert leaked == ""
    assert Counter(line for event in run.events for line in event.text.splitlines()) == Counter(written.splitlines())
    assert Counter(echoed.splitlines()) == Counter(written.splitlines())
    assert sorted(map(str, told(run))) == sorted(map(str, told(calling)))
    assert run.notes == [finding.message for finding in run.findings]


@pytest.mark.behaviour("P1")
@pytest.mark.parametrize("name", CALLING)
def test_prints_that_cannot_wait_for_the_end_call_the_host(name, handed):
    program = jax.jit(CALLING[name])
    with jdw.capture() as run:
        program(X)
        program(X)
    assert len(run.events) >= 2
    assert not handed


def test_a_call_in_flight_is_waited_for_as_jax_waits_for_its_effects(handed):
    @jax.jit
    def long(x):
        for _ in range(20):
            x = jnp.tanh(x @ x)
        return said(x[0, 0])

    x = jnp.eye(600, dtype=jnp.float32)
    with jdw.capture() as run:
        for count in range(1, 4):
            long(x)
            jax.effects_barrier()
            assert len(run.events) == count
        for _ in range(5):
            y = long(x)
        y.block_until_ready()
        # All results of a program are ready together, and reading takes in its events.
        until(lambda: len(run.events) == 8)
    assert len(handed) == 8
    states = [(call.state, call.events) for call in run.calls]
    assert states == [("drained", 1)] * 8
    assert all(call.started_ns <= call.dispatched_ns <= call.ready_ns <= call.drained_ns for call in run.calls)


def test_a_capture_that_does_not_wait_gets_what_is_late():
    @jax.jit
    def long(x):
        for _ in range(60):
            x = jnp.tanh(x @ x)
        return said(x[0, 0])

    x = jnp.eye(800, dtype=jnp.float32)
    with jdw.capture(barrier=False) as run:
        long(x)
    until(lambda: len(run.events) == 1)
    assert run.events[0].call == 0


@pytest.mark.behaviour("P9")
def test_each_call_in_flight_has_its_own_events_also_where_few_are_recorded():
    @jax.jit
    def step(x, number):
        jax.debug.print("first {}", number)
        x = jnp.tanh(x @ x)
        jax.debug.print("second {}", number)
        return x

    x = jnp.eye(200, dtype=jnp.float32)
    with jdw.capture(every=3) as run:
        for number in range(100):
            x = step(x, number)
    numbers = [int(event.args[0]) for event in run.events]
    assert [event.call for event in run.events] == numbers
    assert numbers == [number for number in range(0, 100, 3) for _ in range(2)]


def test_sampled_calls_that_python_dispatches_wait_for_no_older_one(monkeypatch):
    """Values among a program's results are known to be those of the call; waiting for the older call took a second."""
    taker = jax.jit(lambda x: x + 7, donate_argnums=0)  # After a donation, Python dispatches programs that print.
    taker(jnp.ones(3))
    waited = []
    theirs = CallSerializer._wait
    monkeypatch.setattr(CallSerializer, "_wait", lambda *args: waited.append(args) or theirs(*args))
    program = jax.jit(said)
    with jdw.capture(every=2) as run:
        for number in range(6):
            program(jnp.full(2, number))
    assert [int(event.args[0][0]) for event in run.events] == [0, 2, 4]
    assert not waited


@pytest.mark.behaviour("P9")
def test_calls_that_threads_make_at_once_have_their_own_events(handed):
    @jax.jit
    def step(x, thread, number):
        x = jnp.tanh(x @ x)
        jax.debug.print("{} {}", thread, number)
        return x

    together = threading.Barrier(4)

    def work(thread):
        x = jnp.eye(100, dtype=jnp.float32)
        together.wait(PATIENCE)
        for number in range(50):
            x = step(x, thread, number)

    with jdw.capture() as run, ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert len(handed) == 200
    calls = {event.call: event.text for event in run.events}
    assert sorted(calls.values()) == sorted(f"{thread} {number}" for thread in range(4) for number in range(50))
    for name in {call.thread for call in run.calls}:
        texts = [calls[call.id].split() for call in run.calls if call.thread == name]
        assert len({thread for thread, _ in texts}) == 1
        assert [int(number) for _, number in texts] == sorted(int(number) for _, number in texts)
    assert not run.notes


def test_single_numbers_of_one_type_are_one_result(handed):
    def program(x):
        for number in range(20):
            jax.debug.print("{} {}", x.sum() * number, x.argmax() + number)
        jax.debug.print("{}", x)
        return x

    with jdw.capture() as run:
        for call in range(3):
            jax.jit(program)(X + call)
    assert [one.reporting.count for one in handed] == [3] * 3, "float32, int32, and the array"
    assert len(run.events) == 3 * 21


def reporting(reporter):
    """Return a program that prints one array."""
    return ReportingProgram(None, (PassedLine(reporter, (None,), 1),), Packing(1, ((0, None),)))


def test_a_full_backlog_is_read_even_if_nobody_looks():
    kept = backlog.Backlog()
    heard, one = [], jnp.float32(1)

    def report(_times, _thread, columns):
        heard.extend(columns[0])

    for _ in range(backlog.MANY + 1):
        kept.add(backlog.PendingResult(kept, None, reporting(report), [one]))
    assert len(heard) == backlog.MANY + 1


def test_a_program_that_is_compiled_ahead_of_time_is_as_jax_makes_it(handed):
    program = jax.jit(said)
    plain = program.lower(X).out_info
    with jdw.capture() as run:
        program(X)
        lowered = program.lower(X)
        assert lowered.out_info == plain
        compiled = lowered.compile()
        np.testing.assert_array_equal(compiled(X), X * 2)
        program(X)
    assert len(handed) == 2
    assert len(run.events) == 3


def test_a_nan_that_is_only_said_is_no_error(handed):
    @jax.jit
    def program(x):
        jax.debug.print("{}", x[0])
        return jnp.nan_to_num(x)

    x = np.array([np.nan, 1], np.float32)
    with jdw.capture() as run, jax.debug_nans(True):
        program(x)
    assert not handed
    with jdw.capture() as later:
        program(x)
        with jax.debug_nans(True):
            program(x)
    assert [event.text for event in (*run.events, *later.events)] == ["nan"] * 3


def test_a_nan_that_a_later_call_gives_is_the_error_that_it_is_without_us():
    program = jax.jit(lambda x: jnp.log(said(x)))

    def error():
        program(X + 1)
        with jax.debug_nans(True), pytest.raises(FloatingPointError) as raised:
            program(X - 1)
        return str(raised.value)

    plain = error()
    with jdw.capture() as run:
        assert error() == plain
    assert run.events[0].values[0].tolist() == (X + 1).tolist()


@pytest.fixture
def by_python(monkeypatch):
    """Return the calls that Python dispatches; C++ dispatches the others, because no argument is donated."""
    monkeypatch.setattr(handover, "are_given_away_already", lambda _cache: False)
    monkeypatch.setattr(current_session().capture.handover, "_are_given_away", False)
    calls = []
    call = handover.HandoverExecutable.__call__
    monkeypatch.setattr(
        handover.HandoverExecutable, "__call__", lambda self, *args: (calls.append(args), call(self, *args))[1]
    )
    return calls


@jax.tree_util.register_dataclass
@dataclass
class State:
    x: jax.Array
    key: jax.Array
    nothing: None = None


@pytest.mark.behaviour("P1")
def test_a_program_is_dispatched_without_effects_from_its_second_call_on(handed, by_python, same_bits):
    @jax.jit
    def step(state):
        key, own = jax.random.split(state.key)
        return State(said(state.x + jax.random.normal(own, state.x.shape)), key), {"sum": state.x.sum()}

    def steps():
        state, sums = State(jnp.asarray(X), jax.random.key(0)), []
        for _ in range(5):
            state, aux = step(state)
            sums.append(aux)
        return state.x, jax.random.key_data(state.key), sums

    plain = steps()
    for dispatched in (1, 1):
        with jdw.capture() as run:
            assert same_bits(steps(), plain)
        assert len(by_python) == dispatched
        assert [event.call for event in run.events] == list(range(5))
        assert [call.state for call in run.calls] == ["drained"] * 5
    assert len(handed) == 10


def test_a_closed_gate_is_asked_from_the_next_call_on(handed):
    program = jax.jit(said)
    gate, asked = current_session().capture.gate, []
    may_pass = gate.may_pass
    with jdw.capture() as run:
        program(X)
        program(X)
        gate.may_pass = lambda tap, _arrays: asked.append(tap)
        gate.close(True)
        try:
            program(X)
            jax.effects_barrier()
        finally:
            gate.close(False)
            gate.may_pass = may_pass
        assert (len(handed), len(asked)) == (2, 1)
        program(X)
        program(X)
    assert (len(handed), len(run.events)) == (4, 5)


def quiet(x):
    h = x * 2
    return h + 1


TAKERS = {
    "itself": lambda program: program,
    "one with effects": lambda _: jax.jit(lambda x: said(x) + 1, donate_argnums=0),
    "one without": lambda _: jax.jit(lambda x: x + 1, donate_argnums=0),
    "that was known": lambda _: KNOWN,
    "nobody": lambda _: lambda x: x.delete(),
}
KNOWN = jax.jit(lambda x: x + 3, donate_argnums=0)


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("function", [said, quiet])
@pytest.mark.parametrize("watch", [None, "h"])
def test_a_donated_argument_is_refused_as_without_a_capture(function, taker, watch):
    def refused():
        program = jax.jit(lambda x: function(x) + 1, donate_argnums=0 if taker == "itself" else ())
        take = TAKERS[taker](program)
        for _ in range(3):  # From its second call on C++ may dispatch it.
            program(jnp.asarray(X) + 0)
        x = jnp.asarray(X) + 0
        jax.block_until_ready(take(x))
        with pytest.raises((RuntimeError, ValueError)) as raised:
            program(x)
        return type(raised.value), str(raised.value)

    plain = refused()
    handover = current_session().capture.handover
    handover.hold()
    handover._are_given_away, handover._lowered = False, 0
    with jdw.capture(watch=watch) as run:
        assert refused() == plain
        assert refused() == plain
    assert bool(len(run.events)) == (function is said or watch is not None or taker == "one with effects")


@pytest.mark.parametrize("capture", [{}, {"watch": "h"}])
def test_arrays_donated_outside_of_captures_are_refused_as_without_a_capture(capture):
    """The program is new: for a known program C++ would raise another message."""
    program, taker = jax.jit(lambda x: said(x) + 1), jax.jit(lambda x: x + 5, donate_argnums=0)
    x, y = jnp.ones(3), jnp.ones(3)
    taker(x)
    with pytest.raises(RuntimeError, match="Array has been deleted with shape") as plain:
        program(x)
    handover = current_session().capture.handover
    handover.hold()
    handover._are_given_away, handover._lowered = False, 0
    with jdw.capture(**capture) as run:
        for _ in range(3):
            program(y)
        with pytest.raises(RuntimeError) as raised:
            program(x)
    assert str(raised.value) == str(plain.value)
    assert len(run.events) == 3


@pytest.mark.parametrize("function", [lambda x: said(x).sum(), lambda x: said(x) + 1, lambda x: said(x.sum()) + x])
def test_arguments_are_given_away_as_without_us(function):
    program = jax.jit(function, donate_argnums=0)

    def given_away():
        x = jnp.ones(3)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            program(x).block_until_ready()
        return x.is_deleted(), [str(one.message) for one in warned]

    plain = given_away()
    with jdw.capture() as run:
        assert given_away() == plain
        assert given_away()[0] == plain[0]
    assert len(run.events) == 2


def test_events_can_be_read_under_a_transfer_guard():
    program = jax.jit(said)
    x = jax.device_put(X)
    with jdw.capture() as run, jax.transfer_guard("disallow"):
        program(x)
        jax.effects_barrier()
    assert len(run.events) == 1


def test_results_on_a_mesh_are_as_without_us():
    program = jax.jit(said, out_shardings=NamedSharding(mesh(), P()))
    with jdw.capture() as run:
        result = program(X)
    assert result.sharding.num_devices == 4
    assert len(run.events) == 1


def test_a_program_that_fails_in_a_pass_of_ours_calls_the_host(monkeypatch, handed):
    def with_results(_program, _name, _offer):
        raise AttributeError("no such name in this JAX")

    monkeypatch.setattr(handover, "with_results", with_results)
    with jdw.capture() as run:
        jax.jit(lambda x: said(x, "of its own"))(X)
    assert not handed
    assert [event.text.split(" [")[0] for event in run.events] == ["of its own"]


def test_a_thread_that_outlives_the_capture_gets_its_results(handed):
    begun, over = threading.Event(), threading.Event()
    program, results = jax.jit(said), []

    def work():
        program(X)
        begun.set()
        assert over.wait(PATIENCE)
        results.append(program(X))

    with jdw.capture():
        thread = threading.Thread(target=work)
        thread.start()
        assert begun.wait(PATIENCE)
    over.set()
    thread.join()
    np.testing.assert_array_equal(results[0], X * 2)
    assert len(handed) == 2
    current_session().collect()


def test_a_program_in_a_capture_that_stops_calls_the_host(handed):
    program = jax.jit(said)
    with jdw.capture(break_on="x.sum() > 1e9", prompt=False) as run:
        program(X)
    assert not handed
    with jdw.capture() as run:
        program(X)
    assert len(handed) == 1
    assert len(run.events) == 1


@pytest.mark.cpu("a GPU copies to the host later")
def test_an_interrupt_of_a_report_loses_no_later_call():
    kept, heard, one = backlog.Backlog(), [], jnp.float32(1)

    def interrupted(_times, _thread, _columns):
        raise KeyboardInterrupt

    def report(_times, _thread, columns):
        heard.extend(columns[0])

    calls = [backlog.PendingResult(kept, reporter, reporting(reporter), [one]) for reporter in (interrupted, report)]
    ended = []
    for call in calls:
        kept.add(call)
        call.then(ended.append)
    with pytest.raises(KeyboardInterrupt):
        kept.report()
    kept.report()
    assert (heard, ended) == ([1], [None, None])
