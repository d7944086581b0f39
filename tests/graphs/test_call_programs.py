"""What a page is answered of a call: the program that JAX traced for it, without ours; what is not known, and what is gone."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.tracing.traces import Trace
from jax_debug_widgets.graphs import diff
from jax_debug_widgets.session import current_session
from jax_debug_widgets.session.panel.requests import answer
from jax_debug_widgets.session.studies.call_programs import LARGEST, MOST_KEPT, CallPrograms
from jax_debug_widgets.session.studies.program_views import ProgramViews

X = jnp.ones(3)


def asked(run, call=0):
    """What a page is answered: the programs and a sentence; or what is wrong."""
    request = {"type": "program", "run": run.key, "id": 1, "what": "call", "call": call}
    [(message, _)] = answer(current_session(), request)
    return message["answer"] if message["type"] == "program" else message["message"]


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
    assert found["told"] == "traced once in this run"
    program = current_session().program_views._kept[about["key"]].program
    assert program is not None and set(diff(program, jdw.graph(f, X).program).counts) == {"same"}
    assert asked(run) == found, "it is read once"


def test_a_copy_that_may_be_ours_is_said_to_be():
    f = jax.jacfwd(jax.grad(new_function()))
    with jdw.capture(watch=True) as run:
        jax.jit(f)(X)
    jax.effects_barrier()
    assert asked(run)["told"].endswith("; a copy in it may be there because values are watched")


def test_several_programs_of_a_function_are_all_there_and_which_one_ran_is_not_guessed():
    f = jax.jit(new_function())
    with jdw.capture() as run:
        f(X)
        f(jnp.ones(5))
    jax.effects_barrier()
    found = asked(run)
    assert [one["name"] for one in found["programs"]] == ["f(x: float32[5])", "f(x: float32[3])"]
    assert found["told"] == "traced 2 times in this run; which of them this call ran is not known"
    with jdw.capture() as again:
        f(X)
    jax.effects_barrier()
    assert asked(again).startswith("No program of `f` was seen to be traced for a call in this run: JAX had it")
    assert asked(again, 7) == "Call 7 is no longer kept."


def test_the_oldest_programs_and_those_of_a_run_that_is_gone_are_let_go_of():
    with jdw.capture() as run:
        jax.jit(new_function())(X)
        for size in range(MOST_KEPT):
            jax.jit(lambda x: x + 1)(jnp.ones(size + 1))
    jax.effects_barrier()
    assert asked(run).startswith("The program of `f` is no longer kept: only the last 8")
    session = current_session()
    session.call_programs.forget(run.key)
    assert not [one for one in session.call_programs._kept if one.run == run.key]
    assert asked(SimpleNamespace(key="gone")) == "This run is gone: run the cell again."


def test_a_program_with_large_constants_is_not_kept_alive():
    programs = CallPrograms(current_session().capture, ProgramViews())
    trace = Trace("f", "f.py", 1, 0, (), {}, {}, 0, 0.0)
    large = jax.make_jaxpr(lambda x: x)(X)
    large.consts.append(SimpleNamespace(nbytes=LARGEST + 1))
    programs.take("run", trace, large)
    programs.take("run", trace, jax.make_jaxpr(lambda x: x)(X))
    del large
    assert [one._program() is None for one in programs._kept] == [True, False]
