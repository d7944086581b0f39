"""Test `jdw.compare(f, x, against="op-by-op")`: it names the line that the compiler computes differently, and why."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets.graphs.pins import fewest
from tests.devices import cpu_mesh


def contracted(a, b, c):
    p = a * b
    return p + c


def threshold(x):
    y = x / 1e9
    return y >= 0.1  # jax#25601


def divided(x):
    return jnp.sum(x) / 5.0


ARRAYS = [jnp.asarray(np.random.default_rng(0).normal(size=(3, 64)), jnp.float32)[at] for at in range(3)]


def _as_jax_does(f, *args):  # noqa: ANN002
    return all(map(np.array_equal, jax.tree.leaves(jax.jit(f)(*args)), jax.tree.leaves(f(*args))))


@pytest.mark.behaviour("G1")
def test_a_product_and_a_sum_that_are_contracted_are_named_under_vmap():
    args = [one.reshape(8, 8) for one in ARRAYS]
    found = jdw.compare(jax.vmap(contracted), *args, against="op-by-op")
    assert found.equal == _as_jax_does(contracted, *args)
    if found.equal:  # This processor has no such instruction.
        assert found.cause == "" and not found.pins and found.compiles == 1
        return
    assert found.cause == "fusion" and found.close and found.first is None
    ((pin,),) = (found.pins,)
    assert pin.names == ("p",) and pin.source.line == contracted.__code__.co_firstlineno + 1
    assert "LLVM without optimisation" in found.deciding
    assert "if `p = a * b` is made apart: product and sum are contracted (FMA)" in found.headline
    assert not any(one.differs for one in found.observed)


@pytest.mark.behaviour("G1")
def test_equal_results_have_no_cause():
    x = jnp.arange(5.0)
    found = jdw.compare(divided, x, against="op-by-op")
    assert found.equal == _as_jax_does(divided, x)
    if found.equal:
        assert found.cause == "" and found.headline == "equal to the bit"
    else:
        assert found.first.equation.primitive == "div"


@pytest.mark.behaviour("G1")
def test_inside_a_scan_the_line_and_the_step_are_reported():
    def loop(x):
        def body(c, a):
            c = c + a / 7.0
            return c, c

        return lax.scan(body, x[0], x)

    x = ARRAYS[0]
    found = jdw.compare(loop, x, against="op-by-op")
    exact = np.asarray(x) / np.float32(7)
    rewritten = np.asarray(x) * (np.float32(1) / np.float32(7))
    assert found.first.equation.primitive == "div"
    assert found.first.step == (int(np.argmax(exact != rewritten)),)
    assert f"at step {found.first.step[0]}" in found.headline


@pytest.mark.behaviour("G1")
@pytest.mark.parametrize("reverse", [False, True])
def test_an_operation_that_moves_the_values_of_an_earlier_step_is_not_said_to_be_compiled_otherwise(reverse):
    def loop(x):
        def body(c, a):
            moved = c[None]
            return c + a / 7.0, moved

        return lax.scan(body, x[0], x, reverse=reverse)

    x = ARRAYS[0]
    found = jdw.compare(loop, x, against="op-by-op")
    exact = np.asarray(x) / np.float32(7)
    rewritten = np.asarray(x) * (np.float32(1) / np.float32(7))
    (differ,) = np.nonzero(exact != rewritten)
    assert found.first.equation.primitive == "div", found
    assert found.first.step == (differ[-1 if reverse else 0],)


def test_a_program_that_calls_the_host_is_run_but_not_searched():
    calls = []

    def called(x):
        jax.debug.callback(calls.append, x)
        return threshold(x)

    found = jdw.compare(called, np.float32(0.1e9), against="op-by-op")
    jax.effects_barrier()
    assert not found.equal and found.cause == "unknown"
    assert "It calls the host" in str(found) and len(calls) == 2


@pytest.mark.parametrize("needed", [{3}, {0, 9}, {1, 5, 6}, set(range(10))])
def test_the_fewest_values_are_found(needed):
    assert set(fewest(list(range(10)), lambda some: needed <= set(some), lambda: True)) == needed


def test_the_observed_equations_are_a_frame():
    pytest.importorskip("pandas")
    found = jdw.compare(threshold, np.float32(0.1e9), against="op-by-op")
    frame = found.to_pandas()
    assert list(frame["verdict"]) == ["differs", "differs"] and frame.loc[0, "name"] == "y"
    assert "algsimp" in found._repr_html_()


@pytest.mark.behaviour("G1")
def test_the_magic_compares_the_jitted_program_with_op_by_op(ours):
    ours.run("def f(x):\n    return x / 1e9 >= 0.1")
    shown = ours.run("%jaxdebug compare f -- jnp.float32(0.1e9) --against op-by-op").value
    assert shown.startswith("f jitted and op by op: DIFFERENT: div in `return x / 1e9 >= 0.1`")


@pytest.mark.cpu("the mesh has several devices")
def test_an_exchange_between_devices_is_no_call_of_the_host():
    rows, whole = jax.sharding.PartitionSpec("i"), jax.sharding.PartitionSpec()
    mesh = cpu_mesh((4,), ("i",))

    @jax.shard_map(mesh=mesh, in_specs=(rows, rows), out_specs=whole)
    def product(x, y):
        return jax.lax.psum(jnp.vdot(x, y), "i")

    def f(x, y):
        total = product(x, y)
        return contracted(x, y, total)

    found = jdw.compare(f, *ARRAYS[:2], against="op-by-op")
    assert not any("calls the host" in note for note in found.notes)
    assert found.cause != "unknown"
