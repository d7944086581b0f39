"""Test the table of calls: the programs that a cell ran, and their stages."""

from __future__ import annotations

import contextlib
import gc
import itertools
import threading
import types
import weakref
from functools import partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.passes import watching
from jax_debug_widgets._jax.running.backlog import Backlog
from jax_debug_widgets._jax.running.dispatch import Execution
from jax_debug_widgets.breakpoints import Policy
from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.run.calls import CallLog
from jax_debug_widgets.session.run.waiter import Waiter
from tests.devices import cpu_pmap
from tests.waiting import until


def calls_of(shell, cell, *, error="None"):
    assert shell.run("%%jaxdebug --no-echo\n" + cell).error.startswith(error)
    return current_session().current.calls


def fresh(printing=True):
    """Return a jitted function that is not compiled yet."""

    def f(x):
        if printing:
            jax.debug.print("x {}", x)
        return x + 1

    return jax.jit(f)


def test_calls_are_shown_as_lines_the_newest_of_many():
    f = fresh()
    with jdw.capture() as run:
        assert repr(run.calls) == "<no calls>"
        for _ in range(23):
            f(1.0)
    left, *lines = repr(run.calls).splitlines()
    assert left == "… 3 earlier calls" and len(lines) == 20
    assert lines[0].startswith("3  f: cached · ") and lines[-1].endswith("done, 1 print or value")


def test_sites_are_shown_as_lines_the_first_of_many():
    def many(x):
        for number in range(103):
            jax.debug.print(f"{number} {{}}", x)

    with jdw.capture() as run:
        assert repr(run.sites) == "<no sites>"
        jax.lax.scan(lambda c, v: (c, fresh()(v)), 0.0, jnp.arange(3.0))
        (line,) = repr(run.sites).splitlines()
        (site,) = run.sites
        assert line == f"{site.id}  {site.where}  x  3 times (unordered print)"
        jax.jit(many)(1.0)
    *lines, left = repr(run.sites).splitlines()
    assert left == "… 4 more sites" and len(lines) == 100 and lines[0] == line
    assert [one.id for one in run.sites] == [one.id for one in run.store.sites()]


def test_a_first_call_was_traced_lowered_and_compiled(ours):
    ours.ip.push({"h": fresh()})
    (first,) = calls_of(ours, "h(1.)")
    assert first.name == "h(1.0)" and first.origin == "cell"
    assert first.trace > 0 and first.lower > 0 and first.compile > 0
    assert first.effects and not first.ordered
    assert (first.state, first.events, first.error) == ("drained", 1, "")
    (second,) = calls_of(ours, "h(2.)")
    assert (second.trace, second.lower, second.compile) == (None, None, None)


def test_a_call_whose_outputs_are_there_is_over_at_once(ours, monkeypatch):
    """The summary of a cell must not depend on when another thread notices the end."""
    monkeypatch.setattr(Waiter, "when_ready", lambda *_: pytest.fail("another thread is to wait for it"))
    ours.ip.push({"h": fresh(printing=False)})
    (call,) = calls_of(ours, "h(1.)")
    assert call.state == "drained" and call.ready_ns == call.dispatched_ns


def test_the_time_for_instrumenting_a_program_counts_as_lowering(monkeypatch):
    clock = itertools.count(step=100.0)
    monkeypatch.setattr(watching, "time", types.SimpleNamespace(perf_counter=lambda: next(clock)))
    with jdw.capture(watch=True) as run:
        fresh(printing=False)(1.0)
    (call,) = run.calls
    assert 100 < call.lower + (call.numba or 0) < 200


def test_a_function_may_be_called_as_programs_are(ours):
    def jit_step(x):
        jax.debug.print("x {}", x)
        return x + 1

    ours.ip.push({"jit_step": jax.jit(jit_step)})
    (call,) = calls_of(ours, "jit_step(1.)")
    assert (call.name, call.origin, call.events) == ("jit_step(1.0)", "cell", 1)
    assert call.trace > 0 and call.lower > 0 and call.compile > 0


def test_jitted_methods_and_partials_are_calls_of_the_cell(ours):
    class Model:
        @partial(jax.jit, static_argnums=0)
        def step(self, x, y):
            jax.debug.print("x {}", x)
            return x + y

    ours.ip.push({"model": Model(), "half": partial(Model().step, y=1.0)})
    calls = calls_of(ours, "model.step(1., 2.)\nhalf(3.)")
    assert [(call.name, call.origin, call.events) for call in calls] == [
        ("model.step(1.0, 2.0)", "cell", 1),
        ("half(3.0)", "cell", 1),
    ]
    assert all(call.compile is not None for call in calls)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (lambda: ValueError("too large\n  by 3\nsays\n--------"), "ValueError: too large"),
        (lambda: StopIteration(), "StopIteration"),  # noqa: PLW0108 - each call raises its own.
    ],
)
def test_the_error_of_a_callback_is_shown_by_its_first_line(ours, capfd, error, line):
    def refuse(_):
        raise error()

    ours.ip.push({"h": jax.jit(lambda x: jax.debug.callback(refuse, x)), "wait": jax.effects_barrier})
    (call,) = calls_of(ours, "h(1.)\nwait()", error="JaxRuntimeError")
    assert call.error == line
    (note,) = [note for note in current_session().current.status().notes if "in refuse" in note]
    assert f"raised {line} in refuse" in note
    capfd.readouterr()


def test_a_call_is_dispatched_then_ready_then_drained(ours):
    ours.ip.push({"h": fresh()})
    (call,) = calls_of(ours, "h(1.)")
    assert call.started_ns < call.dispatched_ns <= call.ready_ns <= call.drained_ns


def test_a_call_without_effects_is_listed_and_drains(ours):
    ours.ip.push({"h": fresh(printing=False)})
    (call,) = calls_of(ours, "h(1.).block_until_ready()")
    assert call.name == "h(1.0)"
    assert not call.effects and call.events == 0
    assert call.compile > 0
    run = current_session().current
    until(lambda: run.calls[0].drained_ns is not None)


def test_a_call_with_an_ordered_print_is_marked_as_ordered(ours):
    ours.ip.push({"h": jax.jit(lambda x: jax.debug.print("{}", x, ordered=True))})
    (call,) = calls_of(ours, "h(1.)")
    assert call.ordered and call.effects and call.events == 1


def test_events_are_counted_for_the_call_that_fired_them(ours):
    ours.ip.push({"h": jax.jit(lambda x: jax.lax.fori_loop(0, 5, lambda i, c: (jax.debug.print("{}", i), c)[1], x))})
    calls = calls_of(ours, "h(1.)\nf(1.)\nh(2.)")
    assert [(call.name, call.events) for call in calls] == [("h(1.0)", 5), ("f(1.0)", 1), ("h(2.0)", 5)]
    assert [event.call for event in current_session().current.events] == [0] * 5 + [1] + [2] * 5


def test_nested_calls_are_two_calls(ours):
    calls = calls_of(ours, "f(f(1.))")
    assert sorted((call.name, call.events) for call in calls) == [("f(1.0)", 1), ("f(f(1.0))", 1)]
    assert {call.origin for call in calls} == {"cell"}


def test_calls_in_loops_and_comprehensions_are_one_each_time(ours):
    calls = calls_of(ours, "for i in range(3):\n    f(float(i))\n[f(float(i)) for i in range(2)];")
    assert [call.name for call in calls] == ["f(float(i))"] * 5
    assert [call.events for call in calls] == [1] * 5


def test_calls_in_functions_of_the_cell_are_seen_by_their_effects(ours):
    ours.ip.push({"h": fresh()})
    calls = calls_of(ours, "def q(x):\n    return h(x)\nq(1.)")
    assert [(call.name, call.origin, call.events) for call in calls] == [("f", "library", 1)]
    assert calls[0].compile > 0


def test_calls_in_a_library_are_seen_by_their_effects(ours):
    library = types.ModuleType("a_library")
    exec(  # noqa: S102 - the text of a module
        "import jax\n@jax.jit\ndef step(x):\n    jax.debug.print('s {}', x)\n    return x\n"
        "def train(x):\n    return step(step(x))",
        vars(library),
    )
    ours.ip.push({"library": library})
    calls = calls_of(ours, "library.train(1.)")
    assert [(call.name, call.origin, call.events) for call in calls] == [("step", "library", 1)] * 2
    assert calls[0].compile > 0 and calls[1].compile is None


def test_methods_aot_compiled_and_pmapped_functions_are_calls(ours):
    class Model:
        @jax.jit
        def of_class(self):
            return 1

        step = staticmethod(fresh())

    ours.ip.push(
        {"model": Model(), "aot": fresh(printing=False).lower(1.0).compile(), "p": cpu_pmap(lambda x: x + 1, 4)}
    )
    calls = calls_of(ours, "model.step(1.)\naot(1.)\np(jnp.arange(4.))\nlen('abc')\nprint()")
    assert [call.name for call in calls] == ["model.step(1.0)", "aot(1.0)", "p(jnp.arange(4.0))"]


def test_a_pmapped_function_that_prints_is_one_call(ours):
    ours.ip.push({"p": cpu_pmap(lambda x: (jax.debug.print("{}", x), x)[1], 4)})
    calls = calls_of(ours, "p(jnp.arange(4.))")
    assert [(call.name, call.events) for call in calls] == [("p(jnp.arange(4.0))", 4)]
    assert calls[0].compile > 0


def test_a_jitted_method_that_prints_is_one_call(ours):
    class Model:
        @jax.jit
        def forward(x):  # noqa: N805
            jax.debug.print("{}", x)
            return x

    ours.ip.push({"Model": Model})
    assert [(call.name, call.events) for call in calls_of(ours, "Model.forward(1.)")] == [("Model.forward(1.0)", 1)]


def test_wrapped_transformations_that_print_are_one_call(ours):
    ours.ip.push({"h": jax.jit(jax.grad(lambda x: (jax.debug.print("{}", x), x**2)[1]))})
    assert [(call.name, call.events) for call in calls_of(ours, "h(1.)")] == [("h(1.0)", 1)]


def test_a_call_that_raises_and_ends_the_cell_has_failed(ours):
    ours.ip.push({"h": jax.jit(lambda x: x @ jnp.ones(3))})
    (call,) = calls_of(ours, "h(jnp.ones(2))", error="TypeError")
    assert call.state == "failed"
    assert call.error.startswith("TypeError: ")
    assert current_session().current.status().state == "failed"


def test_an_interrupt_between_the_programs_is_no_failure():
    with contextlib.suppress(KeyboardInterrupt), jdw.capture() as run:
        fresh()(1.0)
        raise KeyboardInterrupt
    assert run.status().state == "interrupted"
    assert repr(run).startswith("<Run 'capture': interrupted, 1 event")
    assert [call.state for call in run.calls] == ["drained"]


def test_a_run_that_raises_after_a_stop_has_failed():
    with contextlib.suppress(ValueError), jdw.capture() as run:
        current_session().debugger.halt("stopped")
        with contextlib.suppress(jdw.Stopped):
            fresh()(1.0)
        raise ValueError
    assert run.status().state == "failed"


def test_a_call_that_raises_and_is_caught_has_failed_and_the_rest_has_not(ours):
    ours.ip.push({"h": jax.jit(lambda x: x @ jnp.ones(3))})
    calls = calls_of(
        ours, "for i in range(2):\n    try:\n        h(jnp.ones(2))\n    except TypeError:\n        f(1.)\nf(2.)"
    )
    assert [(call.name, call.state) for call in calls] == [
        ("h(jnp.ones(2))", "failed"),
        ("f(1.0)", "drained"),
        ("h(jnp.ones(2))", "failed"),
        ("f(1.0)", "drained"),
        ("f(2.0)", "drained"),
    ]
    assert current_session().current.status().barrier.state == "drained", "what failed had not been dispatched"


def test_a_call_whose_arguments_raise_is_not_listed(ours):
    calls = calls_of(ours, "try:\n    f(1 / 0)\nexcept ZeroDivisionError:\n    f(1.)")
    assert [(call.name, call.state) for call in calls] == [("f(1.0)", "drained")]


@pytest.mark.parametrize("code", ["f(f(1.))", "g(f(1.))", "f(x=f(1.))", "[f(1.), f(2.)][-1]", "f(1.) if f(0.) else 2"])
def test_rewritten_calls_of_a_cell_give_the_same_values(ours, code):
    plain = ours.run(code).value
    assert ours.run("%%jaxdebug\n" + code).value == plain


def test_the_calls_of_a_daemon_are_not_captured():
    h, done = fresh(), threading.Event()

    def elsewhere():
        h(1.0)
        done.set()

    with jdw.capture() as run:
        thread = threading.Thread(target=elsewhere, daemon=True)
        thread.start()
        assert done.wait(20)
        thread.join()
        h(2.0)
    assert [event.text for event in run.events] == ["x 2.0"]
    assert [(call.name, call.events) for call in run.calls] == [("f", 1)]


def test_two_threads_can_capture_at_once():
    h = fresh()
    h_started = threading.Barrier(2, timeout=20)
    errors = []

    def work():
        try:
            with jdw.capture():
                h_started.wait()
                h(1.0)
                h_started.wait()
        except BaseException as error:  # noqa: BLE001 - told below
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert errors == []
    assert current_session().active is None


@pytest.fixture
def log():
    return CallLog(0, Waiter(), Backlog(), Policy())


@pytest.mark.parametrize(("halted", "state"), [("interrupted", "interrupted"), (None, "failed")])
def test_an_interrupt_that_xla_reports_is_one_where_the_user_has_interrupted(halted, state):
    """On a GPU the dispatch is over long before a callback of the program is interrupted."""
    log = CallLog(0, Waiter(), Backlog(), Policy(halted=halted))
    told = jax.errors.JaxRuntimeError("INTERNAL: Traceback (most recent call last):\n  File ...\nKeyboardInterrupt")
    log.executing("jit(f)", False, ())(Execution(finished=True, error=told))
    assert [(call.state, call.error) for call in log.calls()[0]] == [(state, "KeyboardInterrupt")]


def test_a_dispatch_waits_for_nobody_who_looks_at_the_calls(log):
    with log._news._changed:
        program = threading.Thread(target=lambda: log.executing("jit(f)", False, ())(Execution(finished=True)))
        program.start()
        program.join(20)
        assert not program.is_alive()
    assert [(call.name, call.state) for call in log.calls()[0]] == [("f", "drained")]


def test_a_thread_that_waits_for_calls_wakes_after_the_last_one(log):
    executed = log.executing("jit(f)", False, ())
    waiting = threading.Thread(target=log.wait_until_drained, args=(None,), daemon=True)
    waiting.start()
    until(lambda: log._news._changed._waiters)
    executed(Execution(finished=True))
    waiting.join(20)
    assert not waiting.is_alive()


def test_outputs_of_calls_are_not_kept_alive():
    h = fresh()
    with jdw.capture() as run:
        y = h(jnp.ones(3))
    assert run.barrier(10)
    # The waiter frees the arrays right before it reports; the last arrays it holds are those of a later wait.
    with jdw.capture():
        h(jnp.ones(3))
    alive = weakref.ref(y)
    del y
    gc.collect()
    assert alive() is None


def test_a_program_that_returns_typed_keys_is_a_call_like_another():
    @jax.jit
    def step(key):
        key, now = jax.random.split(key)
        jax.debug.print("{x}", x=jax.random.uniform(now))
        return key

    key = jax.random.key(0)
    with jdw.capture() as run:
        for _ in range(3):
            key = step(key)
    assert len(run.events) == 3
    assert [call.name for call in run.calls] == ["step"] * 3
    assert run.status().barrier.state == "drained"


def test_an_argument_that_is_gone_fails_its_call_and_no_effect():
    h = jax.jit(lambda x: (jax.debug.print("{}", x), x + 1)[1], donate_argnums=0)
    with jdw.capture(echo=False) as run:
        x = jnp.ones(3)
        h(x)
        with pytest.raises(RuntimeError, match="has been deleted"):
            h(x)
    assert [call.state for call in run.calls] == ["drained", "failed"]
    assert run.status().state == "failed" and run.status().barrier.state == "drained"


def test_a_nan_that_jax_refuses_is_reported_as_what_it_raises_and_no_effect_has_failed():
    h = jax.jit(lambda x: (jax.debug.print("{}", x), jnp.log(x))[1])
    with jax.debug_nans(True), jdw.capture(echo=False) as run, pytest.raises(FloatingPointError):
        h(-1.0)
    assert [call.error for call in run.calls] == ["FloatingPointError: invalid value (nan) encountered in <lambda>"]
    assert run.status().barrier.state == "drained"


def test_events_in_a_branch_of_a_program_without_results_belong_to_their_call():
    @jax.jit
    def every_third(x):
        jax.lax.cond(x % 3 == 0, lambda: jax.debug.callback(lambda _: None, x), lambda: None)

    with jdw.capture() as run:
        for number in range(20):
            every_third(number)
    events = [(event.call, int(event.values[0])) for event in run.events]
    assert events == [(number, number) for number in range(0, 20, 3)]


def test_a_call_that_waits_for_those_before_it_does_not_run_meanwhile():
    @jax.jit
    def step(x, w):
        x = jnp.tanh(x @ w)
        jax.debug.print("{}", x[0, 0])
        return x

    w = jnp.eye(600) * 0.5
    step(w, w).block_until_ready()
    with jdw.capture() as run:
        x = w
        for _ in range(30):
            x = step(x, w)
        jax.block_until_ready(x)
    calls = run.calls
    assert len(calls) == 30
    for before, after in pairwise(calls):
        assert before.ready_ns == after.queued_ns <= after.ready_ns
    ran = sum(one.ready_ns - max(one.started_ns, one.queued_ns) for one in calls)
    assert ran <= calls[-1].ready_ns - calls[0].started_ns


def test_a_program_that_its_own_host_function_calls_has_its_own_events():
    def host(x):
        return np.float32(0) if x <= 0 else np.asarray(program(jnp.float32(x - 1)))

    @jax.jit
    def program(x):
        lax.while_loop(lambda i: i < 1, lambda i: (jax.debug.print("x {}", x), i + 1)[1], 0)
        return io_callback(host, jax.ShapeDtypeStruct((), jnp.float32), x)

    with jdw.capture() as run:
        for x in range(3):
            program(jnp.float32(x))
    said = sorted((event.call, event.text) for event in run.events if event.kind == "print")
    assert said == [(0, "x 0.0"), (1, "x 1.0"), (2, "x 0.0"), (3, "x 2.0"), (4, "x 1.0"), (5, "x 0.0")]
    assert [call.events for call in run.calls] == [2] * 6


def test_a_collection_in_the_middle_of_a_call_knows_the_call(monkeypatch):
    """Another thread may collect events: the pump, or the thread that records the run."""
    add = Backlog.add

    def add_and_collect(self, handed):
        add(self, handed)
        until(handed.is_ready)
        current_session().collect()

    monkeypatch.setattr(Backlog, "add", add_and_collect)
    f = fresh()
    with jdw.capture() as run:
        for i in range(5):
            f(i)
    assert [event.call for event in run.events] == [0, 1, 2, 3, 4]
    assert not run.findings and not run.notes


def test_programs_that_are_of_no_call_are_counted_with_their_seconds():
    @jax.jit
    def total(x):
        jax.debug.print("{x}", x=x)
        return x.sum()

    with jdw.capture() as run:
        for n in range(3):
            jnp.cumsum(jnp.ones(11 + n))
        programs, seconds = run.status().apart
        total(1.0)
        jax.effects_barrier()
    assert programs >= 3 and seconds > 0
    assert "cumsum" in run.compilations and "total" not in run.compilations
    assert run.status().apart[0] <= programs + 1  # The called function is not among them.
