"""Test values that a Python loop assigns by calls with inner loops, against those of the unjitted program."""

from __future__ import annotations

import functools
import itertools
import re
import sys

import jax
import jax.numpy as jnp
import pytest

from jax_debug_widgets.watch.choosing.why_unwatched import MINGLED, named_places
from tests.watch.unjitted import assigned_un_jitted

X = jnp.linspace(-1, 1, 4)
WEIGHTS = [jnp.linspace(-1, scale, 16).reshape(4, 4) for scale in (0.5, 1.0, 1.5)]


def mlp(x, ws):
    for w in ws:
        x = jnp.tanh(x @ w)
    return x


def mlp_with_head(x, ws):
    x = x * 0.5
    for w in ws:
        x = jnp.tanh(x @ w)
    return x


def mlp_with_tail(x, ws):
    for w in ws:
        x = jnp.tanh(x @ w)
    return x + 0.5


def mlp_with_both(x, ws):
    x = x * 0.5
    for w in ws:
        x = jnp.tanh(x @ w)
    x = jnp.sin(x)
    return x * 2


def two_loops(x, ws):
    for w in ws:
        x = jnp.tanh(x @ w)
    for w in ws:
        x = jnp.sin(x + w[0])
    return x


def while_loop(x, ws):
    n = 0
    while n < len(ws):
        x = jnp.tanh(x @ ws[n])
        n += 1
    return x


def inside_another(x, ws):
    return mlp(x, ws)


def nested(x, ws):
    for _ in range(2):
        for w in ws:
            x = jnp.tanh(x @ w)
        x = x * 0.9
    return x


def of_nested_calls(x, ws):
    for _ in range(2):
        y = mlp(x, ws)
        x = x + y * 0.5
    return x


CALLED = {
    one.__name__: one
    for one in (
        mlp,
        mlp_with_head,
        mlp_with_tail,
        mlp_with_both,
        two_loops,
        while_loop,
        inside_another,
        nested,
        of_nested_calls,
    )
}


def followed(x, ws, called):
    for _ in range(2):
        h = called(x, ws)
        x = x + h.mean()
    return x


def in_a_row(x, ws, called):
    for _ in range(2):
        a = called(x, ws)
        b = called(a, ws)
        x = b * 0.5
    return x


def in_a_row_only(x, ws, called):
    for _ in range(2):
        a = called(x, ws)
        x = called(a, ws)
    return x


def twice_in_a_line(x, ws, called):
    for _ in range(2):
        h = called(called(x, ws), ws)
        x = x + h.mean()
    return x


def in_two_loops(x, ws, called):
    for _ in range(2):
        for scale in (0.5, 0.25):
            h = called(x, ws)
            x = x + h * scale
        x = x - 0.25
    return x


def of_other_lengths(x, ws, called):
    for n in (1, 3, 2):
        h = called(x, ws[:n])
        x = x + h * 0.5
    return x


AROUND = {
    one.__name__: one for one in (followed, in_a_row, in_a_row_only, twice_in_a_line, in_two_loops, of_other_lengths)
}


def expected(program, around):
    """Return for each line and name the values that the lines of `around` assign unjitted, in order."""
    code = around.__code__
    found = assigned_un_jitted(program, code.co_filename, range(code.co_firstlineno, code.co_firstlineno + 1))
    return {place: [leaves[""] for leaves in values] for place, values in found.items()}


def seen(run, around, role="value"):
    """Return for each line and name the values of its executions in `around`, by their numbers."""
    found = {}
    for name, value in run.values.items():
        site = value.site
        if site.function == around.__name__ and site.watch.role == role and site.watch.primitive != "argument":
            number = re.search(r"#(\d+)$", name)
            place = (site.line, site.watch.name)
            found.setdefault(place, {})[int(number[1]) if number else 1] = value
    return found


# Each way to call with the loops that differ most, and each loop with the way that calls it most often.
COMBINED = [
    *itertools.product(AROUND, ["mlp_with_both", "nested"], [3]),
    *itertools.product(["in_two_loops"], CALLED.keys() - {"mlp_with_both", "nested"}, [3]),
    *itertools.product(["of_other_lengths"], ["mlp", "mlp_with_both", "nested"], [1]),
]


@pytest.mark.parametrize(("around", "called", "count"), sorted(COMBINED))
@pytest.mark.each
def test_each_execution_has_the_value_that_the_unjitted_program_assigns(around, called, count, watched, agrees):
    ws, around, called = WEIGHTS[:count], AROUND[around], CALLED[called]
    run = watched(jax.jit(lambda x, ws: around(x, ws, called)), X, ws)
    wanted = expected(lambda: around(X, ws, called), around)
    told = seen(run, around)
    assert set(told) >= set(wanted)
    for place in wanted:
        assert sorted(told[place]) == [*range(1, len(wanted[place]) + 1)], place
        for number, value in told[place].items():
            agrees(value, wanted[place][number - 1])


ASSIGNS = {"followed": "h", "in_a_row": "ab", "in_two_loops": "h", "of_other_lengths": "h"}
"""What the calls of each of these are assigned to, in turn."""


@pytest.mark.parametrize("called", ["mlp", "mlp_with_head", "mlp_with_tail", "mlp_with_both", "nested"])
@pytest.mark.parametrize("around", ASSIGNS)
@pytest.mark.each
def test_each_execution_of_a_call_with_inner_loops_has_its_gradient(around, called, watched, agrees):
    names, around, called = ASSIGNS[around], AROUND[around], CALLED[called]

    def loss(x, called):
        return (around(x, WEIGHTS, called) ** 2).sum()

    run = watched(jax.jit(jax.grad(lambda x: loss(x, called))), X)
    calls = []
    loss(X, lambda x, ws: calls.append(x) or called(x, ws))

    def with_zeros(zeros):
        left = iter(zeros)
        return loss(X, lambda x, ws: called(x, ws) + next(left))

    wanted = jax.grad(with_zeros)(jnp.zeros((len(calls), *X.shape)))
    values = {name: told for (_, name), told in seen(run, around, "value").items() if name in names}
    told = {name: told for (_, name), told in seen(run, around, "gradient").items() if name in names}
    assert {name: sorted(each) for name, each in told.items()} == {name: sorted(each) for name, each in values.items()}
    for position, gradient in enumerate(wanted):
        agrees(told[names[position % len(names)]][position // len(names) + 1], gradient)


def layer(x, w):
    return jnp.tanh(x @ w)


def by_reduce(x, ws):
    return functools.reduce(layer, ws, x)


def by_comprehension(x, ws):
    return sum([jnp.tanh(x @ w) for w in ws])


def by_generator(x, ws):
    return sum(jnp.tanh(x @ w) for w in ws)


def by_map(x, ws):
    return sum(map(functools.partial(layer, x), ws))


@pytest.mark.parametrize("called", [by_reduce, by_comprehension, by_generator, by_map])
@pytest.mark.parametrize("around", ["followed", "in_a_row", "of_other_lengths"])
@pytest.mark.each
def test_values_in_a_reduce_a_comprehension_or_a_map_are_numbered_by_execution(around, called, watched, agrees):
    around = AROUND[around]
    run = watched(jax.jit(lambda x: around(x, WEIGHTS, called)), X)
    wanted, told = expected(lambda: around(X, WEIGHTS, called), around), seen(run, around)
    for place in wanted:
        assert sorted(told[place]) == [*range(1, len(wanted[place]) + 1)], place
        for number, value in told[place].items():
            agrees(value, wanted[place][number - 1])


def test_the_loops_of_a_statement_itself_are_of_one_execution(watched, agrees):
    @jax.jit
    def f(x):
        for _ in range(2):
            total = sum(jnp.sin(x * one) for one in (1.0, 2.0, 3.0))
            folded = functools.reduce(lambda y, one: jnp.cos(y + one), (1.0, 2.0, 3.0), total)
            parts = [jnp.sin(folded * one) for one in (1.0, 2.0)]
            x = parts[0] * parts[1]
        return x

    run, x = watched(f, X), X
    for number in (1, 2):
        total = sum(jnp.sin(x * one) for one in (1.0, 2.0, 3.0))
        folded = functools.reduce(lambda y, one: jnp.cos(y + one), (1.0, 2.0, 3.0), total)
        parts = [jnp.sin(folded * one) for one in (1.0, 2.0)]
        x = parts[0] * parts[1]
        wanted = {"total": total, "folded": folded, "parts[0]": parts[0], "parts[1]": parts[1], "x": x}
        for name, value in wanted.items():
            (found,) = (one for one in run.values if one.startswith(f"{name}@") and one.endswith(f"#{number}"))
            agrees(run[found], value)


@pytest.mark.parametrize("called", [mlp, by_reduce, nested])
def test_executions_of_a_line_without_other_operations_between_are_distinguished(called, watched, agrees):
    @jax.jit
    def f(x):
        for _ in range(2):
            y = called(x, WEIGHTS)
            x = y
        return x

    run = watched(f, X, watch="y")
    first = called(X, WEIGHTS)
    for value, wanted in zip(run.values.values(), (first, called(first, WEIGHTS)), strict=True):
        agrees(value, wanted)


def both(x, ws):
    y = x
    for w in ws:
        x = jnp.tanh(x @ w)
        y = jnp.sin(y @ w)
    return x, y


def parts_of_executions(x):
    kept = []
    for _ in range(2):
        a, b = both(x, WEIGHTS)
        kept.append(a)
        x = x + b
    return sum(kept) + x


def test_parts_of_executions_with_nothing_between_them(watched, agrees):
    run = watched(jax.jit(parts_of_executions), X, watch="a,b")
    a, b = both(X, WEIGHTS)
    for name, wanted in zip("ab", zip((a, b), both(X + b, WEIGHTS), strict=True), strict=True):
        values = [value for label, value in run.values.items() if label.startswith(f"{name}@")]
        for value, one in zip(values, wanted, strict=True):
            agrees(value, one)


@pytest.mark.usefixtures("no_tool_ids")
def test_parts_of_executions_have_no_wrong_names_if_a_debugger_traces_the_lines(watched):
    """Lines cannot be followed then: a note says so, and only names of a single value are recorded."""
    sys.settrace(lambda *_: None)
    try:
        run = watched(jax.jit(parts_of_executions), X)
    finally:
        sys.settrace(None)
    assert not [name for name in run.values if re.match(r"[ab]\b", name)] and "x + b" not in run.values
    assert [name for name in run.values if name.startswith("x@")]
    (note,) = (one for one in run.status().notes if "lines" in one)
    assert "debugger" in note
    _, places = named_places(__file__, run.watch_seen())
    line = parts_of_executions.__code__.co_firstlineno + 3
    assert {place.why for place in places if place.span.line == line and place.name in "ab"} == {MINGLED}
