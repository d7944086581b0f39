"""Test Python's `print` in a traced function: written as usual, and distinguished from prints of the program."""

from __future__ import annotations

import builtins
import functools
import pickle
import sys
import threading

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets.session import snapshot_of
from jax_debug_widgets.widgets import summary

PRINT = print


def make_step():
    @functools.partial(jax.jit, static_argnames="scale")
    def step(x, scale=1.0):
        print("tracing", x.shape, scale)
        jax.debug.print("x {x}", x=x.sum() * scale)
        return x

    return step


@pytest.mark.behaviour("P3")
def test_a_print_while_tracing_is_listed_once_a_trace_with_call_and_reason(capsys):
    step = make_step()
    with jdw.capture(echo=False) as run:
        for argument in (jnp.ones(2), jnp.ones(2), jnp.ones(3)):
            step(argument)
        step(jnp.ones(3), scale=2.0)
    assert capsys.readouterr().out == "tracing (2,) 1.0\ntracing (3,) 1.0\ntracing (3,) 2.0\n"
    told = run.trace_prints
    assert [one.text for one in told] == ["tracing (2,) 1.0\n", "tracing (3,) 1.0\n", "tracing (3,) 2.0\n"]
    assert [one.call for one in told] == [0, 2, 3]
    assert [one.trace - told[0].trace for one in told] == [0, 1, 2]
    assert told[0].why == "traced: its first call here"
    assert told[1].why == "traced again for new types: x float32[2] → float32[3]"
    assert "a static argument" in told[2].why
    with jdw.capture(every=2) as other:
        step(jnp.ones(2))
    assert "because this capture has other options" in other.trace_prints[0].why
    assert {one.function for one in told} == {"step"}
    assert told[0].where.startswith("test_trace_prints.py:")


@pytest.mark.behaviour("P3")
def test_a_print_while_tracing_is_no_event_but_in_calls_notes_and_summary():
    step = make_step()
    with jdw.capture() as run:
        step(jnp.ones(2))
        step(jnp.ones(2))
    assert [event.text for event in run.events] == ["x 2.0", "x 2.0"]
    assert [len(call.prints) for call in run.calls] == [1, 0]
    [line] = run.calls[0].prints
    assert "in step: tracing (2,) 1.0 (traced" in line
    assert f"while tracing: {line}" in summary(snapshot_of(run))
    assert any("once a trace and not once a call" in note for note in run.notes)


def test_each_line_that_prints_is_one_finding_which_can_be_muted():
    step = make_step()
    with jdw.capture() as run:
        for size in (2, 3):
            step(jnp.ones(size))
    (finding,) = run.findings
    assert (finding.kind, finding.seen) == ("prints", 2)
    assert finding.headline == "Python's print in `step` shows no values" and finding.file == __file__
    assert run.status().findings == 1 and not run.status().notes, "it is in the list alone, not above it as well"

    def f(x):
        print("here")  # jdw: ok prints
        return x

    with jdw.capture() as quiet:
        jax.jit(f)(1.0)
    assert len(quiet.trace_prints) == 1 and not quiet.findings


def test_the_control_flow_inside_is_named():
    def body(x, _):
        print("body")
        return x, None

    with jdw.capture() as run:
        jax.jit(lambda x: lax.scan(body, x, None, length=3))(1.0)
    assert {(one.function, one.inside) for one in run.trace_prints} == {("<lambda>", ("scan",))}
    assert len({one.trace for one in run.trace_prints}) == 1


@pytest.mark.parametrize(("name", "transform"), [("vmap", jax.vmap), ("grad", jax.grad)])
def test_un_jitted_transformations_run_the_function_each_time(name, transform):
    def f(x):
        print("here")
        return x

    with jdw.capture() as run:
        for _ in range(2):
            transform(f)(jnp.ones(2) if name == "vmap" else 1.0)
    assert [one.function for one in run.trace_prints] == [name] * 2
    assert all("each time" in one.why for one in run.trace_prints)


def test_prints_outside_traces_or_to_other_streams_are_left_alone(capfd):
    def f(x):
        print("to stderr", file=sys.stderr)
        print()
        print("a", "b", sep="-", end="", flush=True)
        return x

    with jdw.capture() as run:
        print("in the cell")
        jax.jit(f)(1.0)
        threading_print = threading.Thread(target=print, args=("thread",))
        threading_print.start()
        threading_print.join()
        with pytest.raises(TypeError):
            print("x", ending="")
        assert pickle.loads(pickle.dumps(print)) is print  # noqa: S301 - just made
    assert [one.text for one in run.trace_prints] == ["\n", "a-b"]
    written = capfd.readouterr()
    assert (written.out, written.err) == ("in the cell\n\na-bthread\n", "to stderr\n")


def test_print_is_pythons_own_before_and_after():
    with jdw.capture(), jdw.capture():
        assert builtins.print is not PRINT
    assert builtins.print is PRINT
    with pytest.raises(ValueError, match="no"), jdw.capture():
        raise ValueError("no")
    assert builtins.print is PRINT


def test_an_exception_of_print_is_raised():
    class Unprintable:
        def __str__(self) -> str:
            raise LookupError("no words")

    def f(x):
        print("before", Unprintable())
        return x

    with jdw.capture() as run, pytest.raises(LookupError, match="no words"):
        jax.jit(f)(1.0)
    assert [one.text for one in run.trace_prints] == ["before "]


def test_a_capture_that_begins_while_a_function_is_traced_says_that_it_holds_nothing():
    runs = []

    def step(x):
        with jdw.capture(echo=False) as run:
            jax.debug.print("x {}", x)
        runs.append(run)
        return x**2

    jax.jit(step)(1.0)
    jax.grad(step)(1.0)
    (note,) = runs[0].notes
    assert note.startswith("The capture began while JAX traced `step at ") and not runs[0].events
    assert not runs[1].notes and len(runs[1].events) == 1, "outside jit it runs at once"
