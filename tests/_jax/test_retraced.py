"""Test that a capture computes what plain JAX does if a value that a function reads has changed since its trace."""

from __future__ import annotations

import traceback
from collections import Counter
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax._src import util  # noqa: TID251 - what JAX's own tests count is the test.
from jax.experimental import checkify

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.running import reuse_executables

X = jnp.linspace(0.5, 2.0, 4)
factor: Any = 1.0
OTHERS = {"capture": {}, "watch": {"watch": True}}


@pytest.fixture(autouse=True)
def _as_at_first():
    changed_to(1.0)
    jax.clear_caches()
    yield
    reuse_executables._left_out.clear()


def changed_to(value):
    globals()["factor"] = value


def scaled(x):
    return x * factor


def says(x):
    jax.debug.print("{}", x)
    return x * factor


def step(carry, x):
    return carry + x * factor, carry


def halving(x):
    return x - 0.5 * factor


def positive(x):
    return (x > 0).all()


def shaped(x):
    return x[: int(factor)].sum() + x


def branching(x):
    if factor > 1:
        x = jnp.sin(x)
    return x + 1


def inside(x):
    inner = jax.jit(scaled)
    return inner(x) + 1


def looped(x):
    return lax.scan(step, jnp.zeros(()), x)[0] + x


def squared(x):
    return (scaled(x) ** 2).sum()


KINDS = {
    "a function that prints": lambda: jax.jit(says),
    "a silent function": lambda: jax.jit(scaled),
    "under vmap": lambda: jax.vmap(jax.jit(says)),
    "vmap inside": lambda: jax.jit(jax.vmap(says)),
    "a gradient": lambda: jax.jit(jax.grad(squared)),
    "a gradient of a jitted function": lambda: jax.grad(jax.jit(squared)),
    "another jitted function": lambda: jax.jit(inside),
    "a loop": lambda: jax.jit(looped),
    "a loop that is not jitted": lambda: looped,
    "a while loop that is not jitted": lambda: lambda x: lax.while_loop(positive, halving, x),
    "a branch that is not jitted": lambda: lambda x: lax.cond(True, scaled, says, x),
    "a checkpointed function": lambda: jax.checkpoint(scaled),
    "a branch of Python's": lambda: jax.jit(branching),
    "another shape": lambda: jax.jit(shaped),
    "jitted anew": lambda: lambda x: jax.jit(says)(x) + 0,
}


@pytest.mark.behaviour("P12")
@pytest.mark.parametrize("options", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.each
def test_a_global_that_has_changed_since_the_trace_changes_nothing(kind, options):
    function = KINDS[kind]()
    function(X)
    changed_to(3.0)
    plain = function(X)
    with jdw.capture(**options) as run:
        np.testing.assert_array_equal(function(X), plain)
    is_untouched = not options and not run.events
    assert is_untouched or {read.names for read in run.stale_reads} == {("factor",)}


def test_a_function_with_a_changed_global_prints_what_plain_jax_prints():
    @jax.jit
    def f(x):
        jax.debug.print("{} times {}", x, factor)
        return x

    f(2.0)
    changed_to(3.0)
    with jdw.capture() as run:
        f(2.0)
    assert [event.text for event in run.events] == ["2.0 times 1.0"]


def test_zeros_of_different_signs_are_different():
    changed_to(0.0)
    jitted = jax.jit(lambda x: 1 / (jax.debug.print("{}", x) or x * factor))
    assert jitted(1.0) == np.inf
    changed_to(-0.0)
    with jdw.capture() as run:
        assert jitted(1.0) == np.inf
    assert run.stale_reads


def test_a_replaced_global_array_changes_no_result_and_is_reported():
    changed_to(np.arange(4.0, dtype=np.float32))
    jitted = jax.jit(says)
    plain = jitted(X)
    changed_to(np.ones(4, np.float32))
    with jdw.capture() as run:
        np.testing.assert_array_equal(jitted(X), plain)
    (read,) = run.stale_reads
    assert read.names == ("factor",)
    assert "`factor` has changed" in read.message


def test_a_function_that_cannot_be_traced_any_more_runs():
    jitted = jax.jit(says)
    plain = jitted(X)
    changed_to("three")
    with jdw.capture() as run:
        np.testing.assert_array_equal(jitted(X), plain)
    assert "traced now it raises TypeError" in run.stale_reads[0].message


@pytest.mark.parametrize("kind", ["a function that prints", "a silent function", "a loop that is not jitted"])
def test_a_function_traced_first_in_a_capture_keeps_its_result_in_other_captures(kind):
    function = KINDS[kind]()
    with jdw.capture():
        first = function(X)
    changed_to(3.0)
    for options in ({"watch": True}, {"every": 2}):
        with jdw.capture(**options):
            np.testing.assert_array_equal(function(X), first)
    if kind != "a loop that is not jitted":
        np.testing.assert_array_equal(function(X), first)


def reading():
    model, settings, values = SimpleNamespace(scale=1.0), {"rate": 1.0}, [5.0, 1.0]
    own = 1.0

    def change():
        nonlocal own
        model.scale = settings["rate"] = values[1] = own = 3.0
        changed_to(3.0)

    functions = {
        "factor": lambda x: x * factor,
        "model.scale": lambda x: x * model.scale,
        "settings['rate']": lambda x: x * settings["rate"],
        "values[1]": lambda x: x * values[1],
        "own": lambda x: x * own,
    }
    return functions, change


@pytest.mark.parametrize("name", reading()[0])
def test_the_note_names_the_line_and_what_has_changed(name):
    functions, change = reading()
    jitted, line = jax.jit(functions[name]), functions[name].__code__.co_firstlineno
    jitted(2.0)
    change()
    with jdw.capture(watch=True) as run:
        assert jitted(2.0) == 2.0
    (read,) = run.stale_reads
    assert (read.names, read.line, read.before, read.after) == ((name,), line, "1.0", "3.0")
    assert read.message in run.notes
    (finding,) = run.findings
    assert (finding.kind, finding.message, finding.where) == ("stale", read.message, read.where)
    assert f"cached value 1.0 was used although `{name}` is now 3.0" in read.message


class Layer:
    def __init__(self) -> None:
        self.weight = 1.0

    def apply(self, x):
        y = x + self.weight
        return y * 1


def test_the_note_names_an_attribute_of_a_method_s_object():
    layer = Layer()
    jitted = jax.jit(layer.apply)
    jitted(2.0)
    layer.weight = 3.0
    with jdw.capture(watch="y") as run:
        assert jitted(2.0) == 3.0
    assert run.stale_reads[0].names == ("self.weight",)
    assert run["y"]["value"] == [3.0]


def test_each_run_reports_a_changed_global_until_the_old_value_is_back():
    jitted = jax.jit(says)
    jitted(X)
    told = []
    for value in (3.0, 5.0, 1.0):
        changed_to(value)
        with jdw.capture() as run:
            for _ in range(3):
                jitted(X)
        told.append([read.after for read in run.stale_reads])
    assert told == [["3.0"], ["5.0"], []]


UNCHANGED = {
    "a print": says,
    "a print under vmap": jax.vmap(says, in_axes=0),
    "a print under vmap of the last axis": lambda x: jax.vmap(says, in_axes=1)(x[None]),
    "a print under two vmaps": lambda x: jax.vmap(jax.vmap(says))(x.reshape(2, 2)),
    "a branch under vmap": jax.vmap(lambda x: lax.cond(x > 1, says, scaled, x)),
    "a loop under vmap": jax.vmap(lambda x: lax.while_loop(lambda v: v < 3, lambda v: says(v) + 1, x)),
    "a gradient of a loop": jax.grad(lambda x: lax.scan(lambda c, t: (says(c) * t, c), 1.0, x)[0]),
    "a checkpointed gradient": jax.grad(jax.checkpoint(lambda x: jnp.sin(says(x)).sum())),
    "a derivative that is pushed": lambda x: jax.jvp(squared, (x,), (x,))[1] + jax.linearize(squared, x)[1](x),
    "a callback made anew": lambda x: jax.debug.callback(lambda v: v, x) or x,
    "a pure callback under vmap": jax.vmap(lambda x: jax.pure_callback(np.sin, x, x, vmap_method="sequential")),
    "a breakpoint": lambda x: jdw.breakpoint(x) * 2,
    "a NaN": lambda x: jnp.where(x > 1, says(x), np.nan),
    "an array made anew": lambda x: says(x * np.arange(4, dtype=np.float32)),
    "custom derivatives": jax.grad(lambda x: jax.nn.relu(says(x)).sum()),
}


@pytest.mark.parametrize("options", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("kind", UNCHANGED)
@pytest.mark.each
def test_an_unchanged_function_has_no_stale_reads(kind, options):
    jitted = jax.jit(UNCHANGED[kind])
    plain = jitted(X)
    with jdw.capture(**options) as run:
        np.testing.assert_array_equal(jitted(X), plain)
    assert run.stale_reads == []


def test_a_changed_number_of_a_checkify_check_is_no_stale_read():
    """Each trace of `checkify.check` takes the next number, and a capture traces a function that prints once more."""

    @jax.jit
    def program(x):
        checkify.debug_check(x > 0, "is positive")
        jax.debug.print("x {}", x)
        return x * 2

    program(jnp.float32(1))
    with jdw.capture() as run:
        program(jnp.float32(1))
    assert run.stale_reads == []


@pytest.mark.parametrize(
    "noted", [traceback.format_stack, traceback.extract_stack, lambda: "".join(traceback.format_stack())]
)
def test_a_callback_that_notes_where_it_was_traced_is_no_difference(noted):
    """`equinox.error_if` does this: its exception shows the lines around it."""

    @jax.jit
    def program(x):
        stack = noted()
        return jax.pure_callback(lambda v: v if stack else 0, x, x)

    program(jnp.float32(1))
    with jdw.capture() as run:
        program(jnp.float32(1))
    assert run.stale_reads == []


def test_looking_up_a_program_sends_no_trace_event_to_jax(monkeypatch):
    def told():
        events = []
        monkeypatch.setattr(util, "test_event_listener", lambda event, *_: events.append(event))
        jax.jit(lambda x: lax.add(x, x))(1.0)
        assert util.test_event_listener is not None
        return Counter(events)

    told()
    plain = told()
    with jdw.capture():
        told()
        assert told() == plain
    assert len(plain) > 5


class Dropout:
    def __init__(self) -> None:
        self.rate = 0.75
        self.training = True

    def apply(self, x):
        keep = 1.0 - self.rate
        return x * keep if self.training else x


def test_a_value_that_is_computed_from_an_attribute_is_not_reported_as_the_attribute():
    layer = Dropout()
    jitted = jax.jit(layer.apply)
    jitted(2.0)
    layer.rate = 0.5
    with jdw.capture(watch=True) as run:
        jitted(2.0)
    assert run.stale_reads[0].headline == (
        "cached value 0.25 was used, not 0.5: `self.rate` or `self.training` may have changed"
    )
