"""Test what a `Run` offers: events, series, frames, plots, and its limits on kept events."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.compat import native
from jax_debug_widgets.session import Options, current_session, recording
from jax_debug_widgets.watch.choosing import price
from tests.waiting import until

mpl.use("agg")


@jax.jit
def train(x):
    def step(carry, i):
        loss = carry * 0.5
        jax.debug.print("loss {}", loss)
        return loss, i

    return jax.lax.scan(step, x, jnp.arange(8))[0]


@jax.jit
def two_places(loss):
    jax.debug.print("first {}", loss)
    jax.debug.print("second {}", loss)
    return loss


@pytest.fixture
def run():
    with jdw.capture(title="train(x)") as run:
        train(1.0)
    return run


def test_events_are_a_sequence_in_arrival_order(run):
    events = run.events
    assert len(events) == 8
    assert [event.seq for event in events] == list(range(8))
    assert events[0].text == "loss 0.5"
    assert events[-1].seq == 7
    assert [event.seq for event in events[2:4]] == [2, 3]
    assert [event.seq for event in events[::-3]] == [7, 4, 1]
    assert [event.seq for event in reversed(events)] == list(range(7, -1, -1))
    assert repr(events) == "<8 events>"
    for index in (8, -9):
        with pytest.raises(IndexError):
            events[index]


def test_a_run_has_a_note_while_numba_compiles(monkeypatch, tmp_path):
    (tmp_path / "compiles_long.py").write_text(
        "import _gate\nfrom numba import njit\n_gate.reached.set()\n_gate.open.wait(20)\n"
        "njit('f8(f8)')(lambda x: x + 1)\n_gate.compiled.set()\n_gate.end.wait(20)"
    )
    monkeypatch.syspath_prepend(tmp_path)
    gate = SimpleNamespace(**{name: threading.Event() for name in ("reached", "open", "compiled", "end")})
    monkeypatch.setitem(sys.modules, "_gate", gate)
    monkeypatch.setattr(native, "_REPORTED_AFTER_S", 0)
    monkeypatch.setattr(recording, "numba_compiles", native.numba_compiles)
    with jdw.capture() as run:
        compiling = threading.Thread(target=native.importable, args=("compiles_long", "nothing"))
        compiling.start()
        assert gate.reached.wait(20)
        assert not native.numba_compiles()  # The import may take long.
        gate.open.set()
        assert gate.compiled.wait(20)
        until(lambda: any("Numba is compiling" in note for note in run.notes))
        gate.end.set()
        compiling.join()
        assert not native.numba_compiles()
        until(lambda: not run.notes)
    assert not run.notes


def test_the_time_of_numba_is_separate_from_that_of_jax(monkeypatch, tmp_path):
    (tmp_path / "compiled_while_traced.py").write_text("from numba import njit\nnjit('f8(f8)')(lambda x: x + 1)")
    monkeypatch.syspath_prepend(tmp_path)

    @jax.jit
    def f(x):
        native.importable("compiled_while_traced", "nothing")
        x = jax.jit(lambda x: x + 1)(x)  # This trace is short: it did not include Numba.
        jax.debug.print("{x}", x=x)

    with jdw.capture() as run:
        f(1.0)
    (call,) = run.calls
    assert call.numba is not None and call.numba > 0 and "Numba " in repr(run.calls)
    parts = [call.trace, call.lower, call.compile]
    assert all(part is not None and part >= 0 for part in parts)
    assert call.numba + sum(filter(None, parts)) <= run.status().elapsed


def test_the_time_of_numba_counts_where_the_first_watched_program_loads_it(monkeypatch, tmp_path):
    (tmp_path / "compiled_for_the_estimate.py").write_text("from numba import njit\nnjit('f8(f8)')(lambda x: x + 1)")
    monkeypatch.syspath_prepend(tmp_path)
    took = []

    def load():
        began = time.monotonic()
        native.importable("compiled_for_the_estimate", "nothing")
        took.append(time.monotonic() - began)

    monkeypatch.setattr(price, "native_target", load)
    with jdw.capture(watch=True) as run:
        jax.jit(lambda x: [y := x + 1, y * 2][1])(1.0)
    (call,) = run.calls
    assert call.numba is not None and call.numba > 0.9 * max(took)


def test_notes_are_all_that_the_panel_says():
    with jdw.capture(watch="nothing_of_this_name", break_on="nowhere > 1") as run:
        train(1.0)
    (breaks, watched) = run.notes
    assert "nowhere > 1" in breaks
    assert "'nothing_of_this_name'" in watched
    assert run.notes == list(run.status().notes)


def test_events_grow_while_the_run_goes_on():
    with jdw.capture() as run:
        assert len(run.events) == 0
        train(1.0)
        jax.effects_barrier()
        assert len(run.events) == 8
        train(1.0)
        jax.effects_barrier()
        assert len(run.events) == 16


def test_a_generator_that_is_closed_in_its_capture_has_not_failed():
    def steps():
        with jdw.capture() as run:
            for i in range(3):
                jax.debug.print("step {i}", i=i)
                yield run

    asked = steps()
    run = next(asked)
    asked.close()
    assert run.status().state == "done"
    assert [event.text for event in run.events] == ["step 0"]


def test_a_run_keeps_as_many_events_as_were_requested_and_counts_the_rest():
    with jdw.capture(max_events=5) as run:
        train(1.0)
    assert len(run.events) == 5
    assert run.dropped == 3
    assert [event.seq for event in run.events] == [3, 4, 5, 6, 7]
    assert repr(run.events) == "<5 events, 3 older ones dropped>"
    assert run.status().dropped == 3
    assert sum(run.status().dropped_by_site.values()) == 3
    assert run.status().events == 8
    (note,) = run.notes
    assert "`run.dropped` counts them" in note


def test_a_run_keeps_as_many_bytes_as_were_requested():
    big = jax.jit(lambda x: jax.lax.fori_loop(0, 10, lambda _i, c: (jax.debug.callback(lambda _: None, c), c)[1], x))
    with jdw.capture(max_mb=1) as run:
        big(jnp.ones((1 << 18) // 4))
    assert 0 < len(run.events) <= 4
    assert run.dropped == 10 - len(run.events)


@pytest.mark.parametrize("name", ["timeout", "max_events", "max_mb"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_options_that_cannot_be_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name} must be greater than 0"):
        jdw.capture(**{name: value})


def test_a_zip_file_to_record_into_is_refused_with_how_to_make_one():
    with pytest.raises(ValueError, match=r"into a folder.*record into run\.jdw; .*save\('run\.jdw\.zip'\)"):
        jdw.capture(record="run.jdw.zip")


@pytest.mark.parametrize("name", ["timeout", "stuck_after", "max_events", "max_mb", "break_timeout"])
def test_an_option_that_must_be_a_number_is_refused_by_name(name):
    with pytest.raises(TypeError, match=f"{name} must be a number, got 'x'"):
        jdw.capture(**{name: "x"})


def test_break_on_takes_the_number_of_a_site():
    jdw.capture(break_on=3)
    jdw.capture(break_on=[3, "nonfinite"])


@pytest.mark.parametrize("max_mb", [1e-9, float("inf")])
def test_any_positive_max_mb_gives_a_budget_of_at_least_one_byte(max_mb):
    assert Options(max_mb=max_mb).budget.nbytes >= 1


def test_an_unknown_option_is_named():
    with pytest.raises(TypeError, match="ecko"):
        jdw.capture(ecko=True)


def test_a_capture_without_timeout_waits_until_all_events_have_arrived():
    with jdw.capture(timeout=None) as run:
        train(1.0)
    assert run.status().barrier.state == "drained"
    assert run.status().barrier.timeout is None


def test_a_series_has_steps_and_values(run):
    steps, values = run.series("loss")
    np.testing.assert_array_equal(steps, np.arange(8))
    np.testing.assert_array_equal(values, 0.5 ** np.arange(1, 9))
    assert values.dtype == np.float32, "that of the program"


def test_a_series_can_be_named_by_its_place(run):
    (site,) = run.sites
    np.testing.assert_array_equal(run.series(f"loss@{site.where}")[1], run.series("loss")[1])


def test_an_ambiguous_name_is_refused_with_its_places():
    with jdw.capture() as run:
        two_places(1.0)
    with pytest.raises(KeyError, match="at several places; say which") as refused:
        run.series("loss")
    places = [f"loss@{site.where}" for site in run.sites]
    assert len(set(places)) == 2
    for place in places:
        assert place in str(refused.value)
        assert run.series(place)[1].tolist() == [1.0]


def test_the_forward_pass_is_taken_where_a_name_is_in_several_phases():
    def body(x):
        y = jnp.sin(x)
        jax.debug.print("y {}", y)
        return y

    with jdw.capture() as run:
        jax.jit(jax.grad(jax.checkpoint(body)))(1.0)
    assert {site.phase for site in run.sites} == {"forward", "recompute"}
    assert len(run.series("y")[1]) == 1
    (recomputed,) = [site for site in run.sites if site.phase == "recompute"]
    assert len(run.series(f"y@{recomputed.where} (recompute)")[1]) == 1


def test_a_name_of_a_print_and_a_watched_value_means_the_watched_value():
    @jax.jit
    def step(w):
        loss = (w * w).sum()
        jax.debug.print("{loss}", loss=loss)
        return w / 2

    with jdw.capture(watch="loss") as run:
        step(step(jnp.ones(4)))
    for values in (run["loss"]["value"], run.series("loss")[1], run.plot("loss").lines[0].get_ydata()):
        assert np.asarray(values).tolist() == [4.0, 1.0]


def test_an_unknown_name_is_refused_with_the_nearest(run):
    with pytest.raises(KeyError, match=r"no captured value is called 'los'.*Did you mean 'loss'.*There are: loss"):
        run.series("los")
    with jdw.capture() as empty:
        pass
    with pytest.raises(KeyError, match="There are: none"):
        empty.series("loss")


def test_lanes_share_their_step():
    with jdw.capture() as run:
        jax.vmap(lambda loss: jax.debug.print("{}", loss))(jnp.arange(3.0))
    steps, values = run.series("loss")
    assert steps.tolist() == [0, 0, 0]
    assert sorted(values.tolist()) == [0, 1, 2]


def test_complex_values_and_arrays_stay_as_they_are():
    with jdw.capture() as run:
        jax.debug.print("{z} {m}", z=jnp.complex64(1 + 2j), m=jnp.ones((2, 3)))
    assert run.series("jnp.complex64(1 + 2j)")[1].tolist() == [1 + 2j]
    assert run.series("jnp.ones((2, 3))")[1].shape == (1, 2, 3)


def test_a_frame_has_one_row_an_event(run):
    frame = run.to_pandas()
    assert len(frame) == 8
    assert frame["text"].tolist()[:2] == ["loss 0.5", "loss 0.25"]
    assert frame["occurrence"].tolist() == list(range(8))
    assert frame["step"].tolist() == [event.step for event in run.events]
    assert frame["kind"].unique().tolist() == ["print"]
    assert frame["ordered"].unique().tolist() == [False]
    assert float(frame["values"][0]["loss"]) == 0.5
    assert frame["time"].is_monotonic_increasing
    assert set(frame["call"]) == {0}
    with jdw.capture() as empty:
        pass
    assert empty.to_pandas().columns.tolist() == frame.columns.tolist()


@pytest.mark.parametrize("max_events", [2_000_000, 40])
def test_a_frame_says_of_every_kind_of_event_what_the_event_says(max_events):
    @jax.jit
    def program(xs):
        jax.vmap(lambda x: jax.debug.print("lane {x} {} {}", x.sum(), jnp.ones(20_000), x=x))(xs)
        jax.debug.print("nothing"), jax.debug.print("{b!r} {}", {"c": xs}, b=xs.astype(jnp.bfloat16))
        jax.debug.callback(lambda *_, **__: None, xs, key=jax.random.key_data(jax.random.key(0)))
        jax.debug.callback(lambda *_, **__: None, xs[0, 0], {"half": xs[0, 1].astype(jnp.bfloat16)})
        jax.vmap(jax.vmap(lambda x, y: jax.debug.print("{:.2f} {y}", x, y=y)), (0, None))(xs, xs[0])
        return xs.sum()

    with jdw.capture(max_events=max_events) as run:
        for _ in range(3):
            program(jnp.arange(6.0).reshape(2, 3) / 7)
        jax.effects_barrier()
    frame = run.to_pandas()
    assert len(frame) == len(run.events) <= max_events
    for row, event in zip(frame.itertuples(), run.events, strict=True):
        assert (row.seq, row.text, row.lane, row.occurrence) == (event.seq, event.text, event.lane, event.occurrence)
        assert (row.step, row.device, row.phantom) == (event.step, event.device, event.phantom)
        assert (row.kind, row.where, row.label) == (event.kind, event.site.where, event.site.label)
        assert (row.call, row.phase, row.ordered) == (event.call, event.phase, event.ordered)
        assert row.time == event.time_ns * 1e-9
        assert list(row.values) == list(event.site.values)
        assert all(np.array_equal(one, two) for one, two in zip(row.values.values(), event.values, strict=True))


def test_to_pandas_without_pandas_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match=r'pip install "jax-debug-widgets\[pandas\]"'):
        run.to_pandas()


def test_a_plot_draws_the_series_named(run):
    axes = run.plot("loss")
    (line,) = axes.get_lines()
    np.testing.assert_array_equal(line.get_ydata(), run.series("loss")[1])
    assert run.plot("loss", ax=axes, log=True) is axes
    assert axes.get_yscale() == "log"
    mpl.pyplot.close("all")


def test_a_plot_without_names_draws_all_scalars(run):
    axes = run.plot()
    assert len(axes.get_lines()) == 1
    mpl.pyplot.close("all")


def test_a_plot_without_names_leaves_out_what_has_several_shapes():
    f = jax.jit(lambda x: jax.debug.print("{x} {s}", x=x, s=x.sum()))
    with jdw.capture() as run:
        f(jnp.ones(3)), f(jnp.ones(5))
    (line,) = run.plot().get_lines()
    assert line.get_ydata().tolist() == [3, 5]
    mpl.pyplot.close("all")


def test_a_name_at_two_places_is_refused_with_them_where_shapes_differ_too():
    f = jax.jit(lambda x: (jax.debug.print("a {x}", x=x), jax.debug.print("b {x}", x=x)))
    with jdw.capture() as run:
        f(jnp.ones(3)), f(jnp.ones(5))
    with pytest.raises(KeyError, match="say which: x@"):
        run.series("x")


def test_the_error_for_a_printed_unwatched_name_refers_to_its_series(run):
    with pytest.raises(KeyError, match=r"'loss' is not watched.*run\.series\('loss'\)"):
        run["loss"]
    with pytest.raises(KeyError, match=r"ask for it with --watch other, or watch='other'.$"):
        run["other"]


@pytest.mark.parametrize(
    ("dtypes", "common"),
    [
        (("bfloat16", "float16"), "float64"),
        (("int4", "uint4"), "float64"),
        (("float8_e4m3fn", "float8_e5m2", "complex64"), "complex128"),
        (("bfloat16", "float32"), "float32"),
    ],
)
def test_a_line_can_print_values_without_a_common_dtype(dtypes, common):
    @jax.jit
    def f(leaves):
        for leaf in leaves:
            jax.debug.print("{leaf}", leaf=leaf)

    with jdw.capture() as run:
        f([jnp.asarray(number, dtype) for number, dtype in enumerate(dtypes, 1)])
    assert "test_run.py" in run._repr_mimebundle_()[0]["text/plain"]
    _, values = run.series("leaf")
    assert values.dtype == common
    assert values.tolist() == list(range(1, len(dtypes) + 1))
    assert len(run.to_pandas()) == len(dtypes)


def test_plot_without_scalars_says_what_to_do():
    with jdw.capture() as run:
        jax.debug.print("{y}", y=jnp.ones(3))
    with pytest.raises(ValueError, match=r"no scalar value was captured.* run\.plot\('jnp.ones\(3\)'\)"):
        run.plot()
    assert len(run.plot("jnp.ones(3)").lines) == 3
    with jdw.capture() as run:
        jax.jit(lambda x: x)(1.0)
    with pytest.raises(ValueError, match=r"print one .*--watch loss"):
        run.plot()


def test_a_run_reads_as_its_title_and_state(run):
    assert repr(run) == "<Run 'train(x)': done, 8 events from 1 site>"


def test_an_error_in_the_body_is_the_users_and_ends_the_capture():
    def body():
        with jdw.capture() as run:
            runs.append(run)
            train(1.0)
            1 / 0  # noqa: B018

    runs = []
    with pytest.raises(ZeroDivisionError):
        body()
    assert runs[0].status().state == "failed"
    assert len(runs[0].events) == 8
    assert current_session().active is None


def test_captures_nest_and_the_inner_one_has_what_fires_in_it():
    with jdw.capture() as outer:
        train(1.0)
        with jdw.capture() as inner:
            train(1.0)
            train(1.0)
        train(1.0)
    assert len(outer.events) == 16
    assert len(inner.events) == 16


def test_captures_that_end_in_another_order_leave_nothing_behind(capsys):
    async def one(n, began, may_end):
        with jdw.capture() as run:
            train(float(n))
            began.set()
            await may_end.wait()
        return run

    async def both():
        events = [asyncio.Event() for _ in range(3)]
        first, second = one(1, events[0], events[1]), one(2, events[1], events[2])
        tasks = [asyncio.create_task(first), asyncio.create_task(second)]
        first = await tasks[0]
        train(4.0)
        jax.effects_barrier()
        events[2].set()
        return first, await tasks[1]

    first, second = asyncio.run(both())
    assert [float(event.values[0]) for event in first.events][:1] == [0.5]
    assert [float(event.values[0]) for event in second.events][::8] == [1, 2]
    assert [len(run.events) for run in (first, second)] == [8, 16]
    assert "in another asyncio task" in first.status().notes[0]
    assert second.status().notes == ()
    assert capsys.readouterr().out == ""
    train(1.0)
    jax.effects_barrier()
    assert capsys.readouterr().out.startswith("loss 0.5"), "JAX prints again"
    assert len(second.events) == 16


def test_the_session_keeps_a_limited_number_of_ended_runs():
    session = current_session()
    with jdw.capture() as first:
        pass
    for _ in range(110):
        with jdw.capture():
            pass
    assert session.find_run(first.key) is None
    assert sum(not run.is_loaded for run in session.runs()) <= 101


def test_values_of_several_shapes_are_shown_one_by_one_and_reported():
    f = jax.jit(lambda x: (jax.debug.print("v {x}", x=x), x)[1])
    with jdw.capture() as run:
        f(jnp.ones(3))
        f(jnp.ones((2, 5)))
    with pytest.raises(ValueError, match=r"different shapes: \(2, 5\), \(3,\); run.events has them"):
        run.series("x")
    assert run.show("x", step=0).get_title() == "x, step 0  float32[3]"
    assert run.show("x").get_title() == "x, step 1  float32[2, 5]"
    assert "v [1. 1. 1.]" in run._repr_mimebundle_()[0]["text/plain"]


def test_a_value_is_called_by_its_keyword_too():
    f = jax.jit(lambda x: jax.debug.print("loss={loss} {loss}", loss=x * 2))
    with jdw.capture() as run:
        f(1.0)
    assert run.series("loss")[1].tolist() == run.series("x * 2")[1].tolist() == [2.0]
    with pytest.raises(KeyError, match=r"There are: loss \(x \* 2\)"):
        run.series("nothing")


def test_an_expression_that_one_call_passes_twice_is_one_value():
    f = jax.jit(lambda a: jax.debug.print("{} {}", a.sum(), a.sum()))
    with jdw.capture() as run:
        f(jnp.ones(2))
    assert run.series("a.sum()")[1].tolist() == [2.0]


def test_places_that_look_the_same_are_numbered():
    def say(x):
        jax.debug.print("{x}", x=x)

    with jdw.capture() as run:
        jax.jit(say)(1.0)
        jax.grad(lambda x: (jax.jit(say)(x), x)[1])(2.0)
    with pytest.raises(KeyError, match=r"#1, .*#2"):
        run.series("x")
    assert [run.series(f"x#{number}")[1].tolist() for number in (1, 2)] == [[1.0], [2.0]]


def test_a_series_has_the_steps_of_what_a_branch_says():
    def say(c):
        jax.lax.cond(c > 10, lambda: jax.debug.print("{c}", c=c), lambda: None)
        return c

    def body(c, t):
        say(c + t)
        return c + t, None

    with jdw.capture() as run:
        jax.jit(lambda x: jax.lax.scan(body, x, jnp.arange(8.0)))(0.0)
    steps, values = run.series("c")
    assert steps.tolist() == [step for event in run.events for step in event.step] == [5, 6, 7]
    assert values.tolist() == [15.0, 21.0, 28.0]
    assert run.plot("c").lines[0].get_xdata().tolist() == [5, 6, 7]

    with jdw.capture() as called:
        for x in range(15):
            jax.jit(say)(float(x))
    assert called.series("c")[0].tolist() == [11, 12, 13, 14]


def test_an_array_is_shown_by_the_step_that_its_series_has():
    @jax.jit
    def say(c):
        jax.lax.cond(c[0] > 3, lambda: jax.debug.print("{c}", c=c), lambda: None)
        return c

    with jdw.capture() as run:
        for x in range(6):
            say(jnp.full(2, float(x)))
    assert run.series("c")[0].tolist() == [4, 5]
    assert run.show("c", step=5).get_title().startswith("c, step 5 ")
    with pytest.raises(IndexError, match=r"no step 0; steps that are kept: 4, 5"):
        run.show("c", step=0)


LEFT_OPEN = """
import jax
import jax_debug_widgets as jdw

def steps():
    with jdw.capture() as run:
        jax.jit(lambda x: jax.debug.print("x {}", x))(1.0)
        yield run

asked = steps()
next(asked)
"""


def test_a_capture_that_is_open_when_the_interpreter_ends_says_nothing():
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    ended = subprocess.run(
        [sys.executable, "-c", LEFT_OPEN], check=True, capture_output=True, text=True, env=environment
    )
    assert (ended.stdout, ended.stderr) == ("", "")
