"""Test the list of callbacks of a program before it runs: `jdw.callbacks(f, x)` and `%jaxdebug callbacks f(x)`."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from IPython.core.error import UsageError
from jax.experimental import io_callback
from jax.sharding import PartitionSpec as P

import jax_debug_widgets as jdw
from jax_debug_widgets.magics.expressions import given_to
from tests.callbacks.bodies import like
from tests.devices import cpu_mesh


class Never:
    """A host function that must not be called."""

    def __init__(self, name) -> None:
        self.__qualname__ = name

    def __call__(self, *_args: Any) -> None:
        pytest.fail(f"{self.__qualname__} was called")


LOG, SOLVE, UNUSED, LOOK = map(Never, ("log", "solve", "unused", "look"))


def program(x):
    jax.debug.print("x {}", x)
    jax.pure_callback(UNUSED, like(x), x)
    y = jax.lax.scan(lambda c, _: (jax.pure_callback(SOLVE, like(c), c), None), x, length=3)[0]
    io_callback(LOG, None, y, ordered=True)
    jax.debug.callback(LOOK, y)
    return jax.lax.cond(y > 0, lambda y: (jax.debug.callback(LOOK, y), y)[1], lambda y: y, y)


@pytest.mark.behaviour("C1")
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["plain", "jitted"])
def test_an_inventory_reports_kind_place_result_nesting_and_what_is_kept(wrap, capfd):
    found = jdw.callbacks(wrap(program), 1.0)
    rows = [(one.function, one.kind, one.ordered, one.returns, one.inside, one.staged, one.kept) for one in found]
    assert rows == [
        ("x {}", "print", False, (), ("",), 1, 1),
        ("unused", "pure", False, ("float32[]",), ("",), 1, 0),
        ("solve", "pure", False, ("float32[]",), ("scan of 3",), 1, 1),
        ("log", "io", True, (), ("",), 1, 1),
        ("look", "callback", False, (), ("",), 1, 1),
        ("look", "callback", False, (), ("cond",), 1, 1),
    ]
    first = program.__code__.co_firstlineno
    assert [one.where for one in found] == [f"test_inventory.py:{first + n}" for n in (1, 2, 3, 4, 5, 6)]
    assert [one.runs for one in found] == [
        "once a call; JAX may drop or repeat it",
        "no: eliminated by the compiler",
        "3 times a call, while its result is used",
        "yes: once a call",
        "once a call; JAX may drop or repeat it",
        "once a call, if its branch is taken; JAX may drop or repeat it",
    ]
    assert "vmap" not in found[1].survives
    assert "shard_map" in found[3].survives
    assert capfd.readouterr().out == "", "nothing has run"


@pytest.mark.behaviour("C2")
@pytest.mark.parametrize("in_a_capture", [False, True])
def test_an_inventory_in_a_capture_is_the_same_and_adds_no_events(in_a_capture):
    if not in_a_capture:
        assert [one.kept for one in jdw.callbacks(program, 1.0)] == [1, 0, 1, 1, 1, 1]
        return
    with jdw.capture() as run:
        assert [one.kept for one in jdw.callbacks(program, 1.0)] == [1, 0, 1, 1, 1, 1]
    assert len(run.events) == len(run.callbacks) == 0


@pytest.mark.behaviour("C1")
def test_lanes_copies_and_equal_prints_are_counted_one_by_one():
    def f(x):
        jax.vmap(lambda v: jax.debug.print("v {}", v))(x)
        jax.debug.print("same"), jax.debug.print("same")
        return x.sum()

    found = jdw.callbacks(f, jnp.ones(4))
    assert [(one.function, one.staged, one.kept) for one in found] == [("v {}", 4, 4), ("same", 1, 1), ("same", 1, 1)]
    assert found[0].inside == ("vmap",)


@pytest.mark.behaviour("C1")
@pytest.mark.parametrize("loop_inside", [True, False])
def test_the_nesting_lists_loops_before_branches(loop_inside):
    def said(x):
        jax.debug.print("x {x}", x=x)
        return x + 1

    def looped(f):
        return lambda x: jax.lax.fori_loop(0, 3, lambda _, x: f(x), x)

    def branched(f):
        return lambda x: jax.lax.cond(x > 0, f, lambda x: x, x)

    (found,) = jdw.callbacks(branched(looped(said)) if loop_inside else looped(branched(said)), 1.0)
    assert found.inside == ("scan of 3, cond",)


@pytest.mark.behaviour("C1", "C4")
def test_callbacks_that_are_called_lane_by_lane_have_their_own_lines():
    def f(x):
        first = io_callback(Never("host"), jax.ShapeDtypeStruct((), jnp.float32), x)
        return first + io_callback(Never("host"), jax.ShapeDtypeStruct((), jnp.float32), x + 1)

    found = jdw.callbacks(jax.jit(jax.vmap(f)), jnp.ones(4))
    line = f.__code__.co_firstlineno
    assert [one.where for one in found] == [f"test_inventory.py:{line + 1}", f"test_inventory.py:{line + 2}"]
    assert [(one.inside, one.staged, one.kept) for one in found] == [(("4 lanes, vmap",), 1, 1)] * 2


@pytest.mark.behaviour("C1")
def test_a_print_that_xla_drops_is_seen_to_be_dropped():
    def f(x):
        def condition(i):
            jax.debug.print("i {}", i)
            return i < 3

        return jax.lax.while_loop(condition, lambda i: i + 1, x * 0)

    def g():
        return f(jnp.int32(0))

    (dropped,) = jdw.callbacks(g)
    with jdw.capture() as run:
        jax.jit(g)()
        jax.effects_barrier()
    assert dropped.inside == ("while, condition of while",)
    assert (dropped.kept == 0) == (len(run.events) == 0)


@pytest.mark.behaviour("C1")
def test_a_program_on_several_devices_has_an_inventory():
    mesh = cpu_mesh((4,), ("d",))
    f = jax.shard_map(lambda x: jax.pure_callback(SOLVE, like(x), x), mesh=mesh, in_specs=P("d"), out_specs=P("d"))
    (one,) = jdw.callbacks(f, np.ones(4, np.float32))
    assert (one.inside, one.staged, one.kept) == (("shard_map",), 1, 1)
    assert one.runs == "once a call on each device, while its result is used"


@pytest.mark.behaviour("C1")
def test_static_arguments_and_keywords_go_through():
    class Options:
        def __getitem__(self, _key) -> int:
            return 3

    def f(x, name, *, scale, options):
        jax.debug.callback(LOOK, x * scale)
        return x * len(range(options["size"])) if name == "x" else None

    assert len(jdw.callbacks(f, 1.0, "x", scale=2.0, options={"size": 3})) == 1
    jitted = jax.jit(f, static_argnames=("name", "options"))
    assert len(jdw.callbacks(jitted, 1.0, name="x", scale=2.0, options=Options())) == 1


class Model:
    @partial(jax.jit, static_argnums=0)
    def step(self, x, *, scale=1.0):
        jax.debug.callback(LOOK, x * scale)
        return x


@pytest.mark.behaviour("C1")
@pytest.mark.parametrize("step", [Model().step, partial(Model().step, scale=2.0)], ids=["method", "partial"])
def test_a_jitted_method_is_given_its_object(step):
    (one,) = jdw.callbacks(step, 1.0)
    assert (one.function, one.staged, one.kept) == ("look", 1, 1)
    assert repr(jdw.callbacks(step, 1.0)).startswith("Model.step: 1 callback")
    assert repr(jdw.cost(step, 1.0)).startswith("Model.step: 1 call to the host")


@pytest.mark.behaviour("C1")
def test_the_inventory_of_callbacks_is_a_table_in_text_html_and_pandas():
    found = jdw.callbacks(program, 1.0)
    lines = repr(found).splitlines()
    assert lines[0] == "program: 6 callbacks; nothing has run"
    assert lines[1].split() == [
        "where", "function", "kind", "returns", "inside", "guaranteed", "to", "run?", "staged", "kept",
        "jit", "vmap", "grad", "scan", "shard_map",
    ]  # fmt: skip
    assert "ordered io" in repr(found)
    assert found._repr_html_().count("<tr>") == 7
    frame = found.to_pandas()
    assert frame["kept"].tolist() == ["1", "0", "1", "1", "1", "1"]
    assert repr(jdw.callbacks(jnp.sin, 1.0)) == "sin: no callbacks"


def test_text_of_the_program_is_escaped_in_html():
    html = jdw.callbacks(lambda x: jax.debug.print("<script>{}", x), 1.0)._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.behaviour("C1")
def test_the_magic_evaluates_function_and_arguments_and_calls_nothing():
    names = {"program": program, "jax": jax, "x": 1.0}
    for _ in range(2):
        assert len(given_to(jdw.callbacks, "callbacks", "jax.jit(program)(x)", names)) == 6
    with pytest.raises(UsageError, match="takes a call"):
        given_to(jdw.callbacks, "callbacks", "program", names)
    with pytest.raises(UsageError, match="takes a call"):
        given_to(jdw.callbacks, "callbacks", "program(", names)
    with pytest.raises(NameError):
        given_to(jdw.callbacks, "callbacks", "nothing(x)", names)
