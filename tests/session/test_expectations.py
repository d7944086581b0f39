"""Test a run's own findings: sites that fired less often than their program says, or that show a tracer."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import checkify

import jax_debug_widgets as jdw
from jax_debug_widgets.events import CallSite, Nesting, Tap
from jax_debug_widgets.session.run.expectations import Expectations
from jax_debug_widgets.session.run.record import CallRecord
from jax_debug_widgets.store import Budget, Store
from jax_debug_widgets.taps.fstrings import corrected


@pytest.mark.behaviour("P2")
@pytest.mark.parametrize("wrap", [jax.jit, jax.vmap, jax.grad], ids=["jit", "vmap", "grad"])
def test_an_f_string_is_flagged_with_the_corrected_line(wrap):
    def f(x):
        jax.debug.print(f"loss {x}")
        return x

    with jdw.capture() as run:
        wrap(f)(jnp.ones(2) if wrap is jax.vmap else 1.0)
    [finding] = run.findings
    assert finding.kind == "formatted"
    assert finding.message.endswith("Pass the value as an argument: write jax.debug.print('loss {x}', x=x)")
    assert run.status().findings == 1


def test_an_f_string_that_is_traced_for_several_types_is_reported_once():
    @jax.jit
    def f(x):
        jax.debug.print(f"loss {x}")
        return x

    with jdw.capture() as run:
        f(jnp.float32(1)), f(jnp.int32(1)), f(jnp.ones(2))
    assert len({event.text for event in run.events}) == 3
    finding, retraced = run.findings
    assert (finding.kind, retraced.kind) == ("formatted", "retraces")


def test_a_format_with_a_value_is_not_flagged():
    with jdw.capture() as run:
        jax.jit(lambda x: jax.debug.print("Tracer(x) {x}", x=x))(1.0)
    assert run.findings == []


@pytest.mark.parametrize(
    ("source", "better"),
    [
        ("jax.debug.print(f'{x:.3f} {x!r}')", "jax.debug.print('{x:.3f} {x!r}', x=x)"),
        ("p(f'{{a}} {x + 1}', ordered=True)", "p('{{a}} {}', x + 1, ordered=True)"),
        ("jax.debug.print(text)", ""),
        ("if x: (", ""),
    ],
)
def test_the_corrected_line_passes_the_values(source, better):
    assert corrected(source) == better


@pytest.mark.behaviour("P11")
def test_an_unordered_print_in_a_condition_of_known_length_is_reported_as_lost():
    def count_to_three(*, ordered):
        def condition(carry):
            jax.debug.print("at {i}", i=carry[0], ordered=ordered)
            return carry[0] < 3

        return jax.jit(lambda x: lax.while_loop(condition, lambda carry: (carry[0] + 1, carry[1] * 2), (0, x)))

    with jdw.capture() as run:
        count_to_three(ordered=False)(1.0)
        count_to_three(ordered=True)(1.0)
    [finding] = run.findings
    assert (finding.kind, finding.seen, finding.site.ordered) == ("lost", 0, False)
    assert "ordered=True" in finding.message
    assert len(run.events) == 4


@pytest.mark.behaviour("P11")
def test_a_lost_print_of_a_condition_inside_another_loop_is_found():
    def program(x):
        def condition(carry):
            jax.debug.print("at {i}", i=carry[0])
            return carry[0] < 3

        def body(_, x):
            return lax.while_loop(condition, lambda carry: (carry[0] + 1, carry[1] * 2), (0, x))[1]

        return lax.fori_loop(0, 2, body, x)

    with jdw.capture() as run:
        jax.jit(program)(1.0)
    [finding] = run.findings
    assert (finding.kind, finding.seen, len(run.events)) == ("lost", 0, 0)


@pytest.mark.parametrize("tell", [partial(jax.debug.print, "{}"), partial(jax.debug.callback, np.asarray)])
@pytest.mark.parametrize("steady", [False, True])
def test_a_print_in_a_sampled_while_condition_has_no_finding_of_loss(tell, steady):
    def program(x):
        def condition(c):
            tell(x if steady else c)
            return c < x

        return lax.while_loop(condition, lambda c: c + 1, 0)

    f = jax.jit(program)
    with jdw.capture(every=100) as run:
        f(5), f(5)
    assert 1 <= len(run.events) <= 2
    assert run.findings == []


def test_sites_that_fire_as_often_as_the_program_says_have_no_finding():
    def body(carry, x):
        jax.debug.print("c {c}", c=carry)
        lax.cond(x > 1, lambda: jax.debug.print("x {x}", x=x), lambda: None)
        return carry + x, None

    program = jax.jit(lambda xs: lax.scan(body, 0.0, xs))
    with jdw.capture() as run:
        for _ in range(3):
            program(jnp.arange(4.0))
    assert run.findings == []
    assert len(run.events) == 3 * (4 + 2)


@pytest.mark.behaviour("P11")
def test_prints_in_the_derivative_parts_of_a_linear_solve_are_not_missed():
    def times(v):
        jax.debug.print("A {}", v.sum())
        return jax.pure_callback(lambda v: 2 * v, v, v)

    f = jax.jit(lambda b: jax.scipy.sparse.linalg.cg(times, b)[0])
    with jdw.capture() as run:
        f(jnp.arange(3.0))
    assert [event.text for event in run.events if event.kind == "print"] == ["A 0.0", "A 3.0"]
    assert run.findings == []
    assert [one.calls for one in run.callbacks] == [1, 1], "before the loop, and in it"


@pytest.mark.parametrize(("steady", "kind"), [(True, "hoisted"), (False, "missing")])
def test_a_site_that_fires_too_seldom_is_reported_over_all_calls(steady, kind):
    place = ("f.py", 1, 0, 1, 9, "f.py:1", "f", "")
    site = CallSite(0, "print", False, *place, "x", ("x",), "{}", "jit(f)", ("jit",), "forward", 0)
    nesting = Nesting(loops=(3,), steady=steady)
    tap = Tap(site, (), ((),), ((),), (jnp.dtype("float32"),), nesting, 4, lambda values: (tuple(values), {}), str)
    expectations = Expectations(Store(Budget(), 0))
    for _ in range(2):
        record = CallRecord("f", "f", "cell", 0, "main", 1)
        record.taps = [tap]
        record.fired[tap] = 1
        expectations.compare([record])
    [finding] = expectations.findings()
    assert (finding.kind, finding.expected, finding.seen, finding.calls) == (kind, 6, 2, 2)
    assert "expected 6, saw 2" in finding.message


def test_an_event_assigned_to_an_older_call_in_flight_is_not_missed():
    place = ("f.py", 1, 0, 1, 9, "f.py:1", "f", "")
    site = CallSite(0, "print", False, *place, "x", ("x",), "{}", "jit(f)", ("jit",), "forward", 0)
    tap = Tap(
        site, (), ((),), ((),), (jnp.dtype("float32"),), Nesting(loops=(3,)), 4, lambda values: (tuple(values), {}), str
    )
    expectations = Expectations(Store(Budget(), 0))
    for fired in (2, 8, 0, 1, 3):
        record = CallRecord("f", "f", "cell", 0, "main", 1)
        record.taps = [tap]
        record.fired[tap] = fired
        expectations.compare([record])
    [finding] = expectations.findings()
    assert (finding.expected, finding.seen, finding.calls) == (3, 2, 1), "14 of 15: one is missing"


@pytest.mark.parametrize("in_loop", [False, True])
def test_calls_that_are_no_longer_listed_have_no_finding_of_loss(in_loop, monkeypatch):
    monkeypatch.setattr("jax_debug_widgets.session.run.call_book.MAX_CALLS", 3)

    def step(x):
        jax.debug.print("x {}", x, ordered=in_loop)
        return x + 1

    f = jax.jit((lambda x: jax.lax.fori_loop(0, 2, lambda _, c: step(c), x)) if in_loop else step)
    with jdw.capture() as run:
        for _ in range(20):
            f(1.0)
        jax.effects_barrier()
    assert len(run.events) == 20 * (1 + in_loop)
    assert run.findings == []
    assert len(run.calls) == 3
    assert {call.events for call in run.calls} == {1 + in_loop}
    (note,) = run.notes
    assert "`run.calls` has the newest" in note


def test_a_program_compiled_before_the_capture_is_reported():
    compiled = jax.jit(lambda x: jax.debug.print("x {x}", x=x)).lower(1.0).compile()
    with jdw.capture() as run:
        compiled(1.0)
    [note] = run.status().notes
    assert "was compiled before the capture" in note


def test_a_program_called_before_the_capture_without_prints_has_no_note():
    program = jax.jit(lambda x: (checkify.debug_check(x > 0, "is positive"), x * 2)[1])
    program(1.0)
    with jdw.capture() as run:
        program(1.0)
    assert run.status().notes == ()


def test_a_program_compiled_in_the_capture_is_seen():
    with jdw.capture() as run:
        jax.jit(lambda x: jax.debug.print("x {x}", x=x)).lower(1.0).compile()(2.0)
    assert [event.text for event in run.events] == ["x 2.0"]
    assert run.status().notes == ()


def test_a_loop_of_another_length_is_expected_to_fire_as_often_as_that():
    def step(c, _):
        jax.debug.print("c {}", c)
        return c + 1, None

    program = jax.jit(lambda x, length: lax.scan(step, x, None, length=length)[0], static_argnums=1)
    for length in (5, 3):
        with jdw.capture() as run:
            program(jnp.float32(0), length)
        assert len(run.events) == length
        assert run.findings == []


@pytest.mark.behaviour("P11")
@pytest.mark.parametrize("wrap", [lambda f: f, jax.checkpoint, jax.jit], ids=["plain", "checkpoint", "jit"])
def test_prints_that_jax_moves_out_of_a_differentiated_loop_are_reported(wrap):
    def loss(x, w):
        def body(x, _):
            jax.debug.print("w {w}", w=w)
            jax.debug.print("x {x}", x=x)
            return jnp.sin(x) * w, None

        return lax.scan(body, x, None, length=3)[0]

    def train(x, w):
        """The scan that is differentiated lies in another one, which goes round its forward and backward pass."""
        return lax.scan(lambda x, _: (x - jax.grad(wrap(loss))(x, w), None), x, None, length=5)[0]

    for program, outer in ((jax.grad(wrap(loss)), 1), (train, 5)):
        with jdw.capture() as run:
            jax.jit(program)(1.0, 2.0)
        moved = {finding.site.phase: finding for finding in run.findings}
        assert all(finding.site.label == "w" for finding in run.findings)
        assert (moved["forward"].kind, moved["forward"].expected) == ("hoisted", 3 * outer)
        assert moved["forward"].seen in (1, outer), "XLA may move it further"
        assert "JAX has moved it out of the loop when it differentiated it" in moved["forward"].message
