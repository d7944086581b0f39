"""Test the answers to a page about a call: the program that JAX traced for it, or why there is none."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.graphs import diff
from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.panel.requests import answer
from jax_debug_widgets.session.studies.call_programs import LARGEST, MOST_KEPT, CallPrograms
from jax_debug_widgets.session.studies.program_views import ProgramViews

X = jnp.ones(3)


def asked(run, call=0):
    """Return the answer: the programs and a sentence, or the error."""
    request = {"type": "program", "run": run.key, "id": 1, "what": "call", "call": call}
    [(message, _)] = answer(current_session(), request)
    return message["answer"] if message["type"] == "program" else message["message"]


def called(run, function, x):
    """Call it as a cell does."""
    span = run.begin_call("f(x)", function)
    assert span is not None
    span.returned(function(x))


def new_function():
    @jax.jit
    def inner(x):
        h = jnp.sin(x)
        return h * 2

    def f(x):
        y = inner(x)
        z, _ = jax.lax.scan(lambda c, w: (jnp.tanh(c * w), c.sum()), y, jnp.ones(4))
        jax.debug.print("z {}", z)
        return jnp.sum(z)

    return f


@pytest.mark.behaviour("G1")
@pytest.mark.parametrize("transform", [lambda f: f, jax.grad, lambda f: lambda x: jax.vjp(f, x)[1](1.0)])
@pytest.mark.parametrize("watch", [None, True])
def test_the_program_of_a_call_is_what_jax_traces_without_a_capture(transform, watch):
    f = transform(new_function())
    with jdw.capture(watch=watch) as run:
        jax.jit(f)(X)
    jax.effects_barrier()
    found = asked(run)
    [about] = found["programs"]
    assert about["name"] in ("f(x: float32[3])", "<lambda>(x: float32[3])")
    assert found["description"] == "the program that this call has run"
    program = current_session().program_views._kept[about["key"]].program
    assert program is not None and set(diff(program, jdw.graph(f, X).program).counts) == {"same"}
    assert asked(run) == found, "it is read once"


@pytest.mark.parametrize("copies", [True, False])
def test_a_copy_that_may_be_ours_is_reported_as_ours_and_those_of_derivatives_are_left_out(copies):
    f = jax.jacfwd(jax.grad(new_function()))
    with jdw.capture(watch=True) as run:
        jax.jit(lambda x: f(jnp.array(x, copy=True) if copies else x))(X)
    jax.effects_barrier()
    assert asked(run)["description"].endswith("; a copy in it may be there because values are watched") == copies


@pytest.mark.behaviour("G1")
def test_each_call_shows_the_program_that_it_has_run_whether_jax_had_it_or_not():
    f = jax.jit(new_function())
    with jdw.capture() as run:
        f(X)
        f(jnp.ones(5))
        f(X)
    with jdw.capture() as again:
        f(jnp.ones(5))
    jax.effects_barrier()
    shown = [asked(one, call)["programs"][0]["name"] for one, call in ((run, 0), (run, 1), (run, 2), (again, 0))]
    assert shown == ["f(x: float32[3])", "f(x: float32[5])", "f(x: float32[3])", "f(x: float32[5])"]
    assert asked(again, 7) == "Call 7 is no longer kept."


@pytest.mark.parametrize("says", [True, False])
def test_a_call_never_shows_the_program_of_another_function_of_its_name(says):
    def made(operation):
        def f(x):
            if says:
                jax.debug.print("{}", x)
            return operation(x)

        return jax.jit(f)

    first, second = made(jnp.sin), made(jnp.cos)
    second(X)
    with jdw.capture() as run:
        for function in (first, second, first, second):
            called(run, function, X)
    jax.effects_barrier()
    kept = current_session().program_views._kept
    *found, last = (asked(run, call) for call in range(4))
    shown = [kept[one["programs"][0]["key"]].graph.program.equations[-1].primitive for one in found]
    assert shown == ["sin", "cos", "sin"]
    unknown = "The program of this call of `f` is not known: JAX dispatched it without Python"
    assert isinstance(last, dict) if says else last.startswith(unknown), "C++ has one of before the capture, too"


def test_a_silent_call_that_may_be_of_two_programs_is_not_known():
    f = jax.jit(lambda x: x + 1)
    with jdw.capture() as run:
        for x in (X, jnp.ones(5), X):
            called(run, f, x)
    jax.effects_barrier()
    assert [type(asked(run, call)) for call in range(3)] == [dict, dict, str]


def test_the_oldest_programs_and_those_of_a_run_that_is_gone_are_let_go_of():
    with jdw.capture() as run:
        jax.jit(new_function())(X)
        for size in range(MOST_KEPT):
            f = new_function()
            jax.jit(f)(jnp.ones(size + 1))
    jax.effects_barrier()
    session = current_session()
    kept = session.call_programs._kept
    assert len([key for key in kept if key[0] == run.key]) == MOST_KEPT
    session.call_programs.forget(run.key)
    assert not [key for key in kept if key[0] == run.key]
    assert asked(SimpleNamespace(key="gone")) == "This run is gone: run the cell again."


def test_a_program_with_large_constants_is_not_kept_alive():
    programs = CallPrograms(current_session().capture, ProgramViews())
    large = jax.make_jaxpr(lambda x: x)(X)
    large.consts.append(SimpleNamespace(nbytes=LARGEST + 1))
    programs.take("run", large)
    assert not programs._kept
    programs.take("run", jax.make_jaxpr(lambda x: x)(X))
    assert len(programs._kept) == 1
