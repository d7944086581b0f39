"""Test the place of a firing on a mesh: in an unjitted `shard_map`, and in one over some of the axes."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import jax_debug_widgets as jdw
from tests.devices import cpu_mesh

SIDE = 2


def mesh_of_four():
    return cpu_mesh((SIDE, SIDE), ("a", "b"))


def spread(mesh, spec):
    return jax.device_put(jnp.arange(8.0).reshape(2, 4), NamedSharding(mesh, spec))


def places(run):
    return {event.text: (event.device, event.mesh_coords) for event in run.events}


@pytest.mark.behaviour("P5")
@pytest.mark.parametrize("is_checked", [True, False], ids=["check_vma", "as before"])
def test_un_jitted_each_device_says_which_it_is(is_checked):
    mesh = mesh_of_four()

    def block(x):
        jax.debug.print("{}", x[0, 0])
        return x

    x = spread(mesh, P("a", "b"))
    with jdw.capture() as run:
        jax.shard_map(block, mesh=mesh, in_specs=P("a", "b"), out_specs=P("a", "b"), check_vma=is_checked)(x)
    found = {
        str(x[SIDE // 2 * a, 2 * b]): (f"cpu:{mesh.devices[a, b].id}", {"a": a, "b": b})
        for a in range(SIDE)
        for b in range(SIDE)
    }
    assert places(run) == found
    assert run.findings == []


@pytest.mark.behaviour("P5")
def test_un_jitted_what_devices_have_in_common_is_of_the_axes_on_which_it_differs():
    mesh = mesh_of_four()

    def block(x):
        total = lax.psum(x, "b")
        jax.debug.print("{}", total[0, 0])
        return total

    with jdw.capture() as run:
        jax.shard_map(block, mesh=mesh, in_specs=P("a", "b"), out_specs=P("a"))(spread(mesh, P("a", "b")))
    assert places(run) == {"2.0": ("", {"a": 0}), "10.0": ("", {"a": 1})}


@pytest.mark.behaviour("P5")
def test_un_jitted_what_jax_brings_together_of_several_devices_has_no_place(printed):
    # JAX pairs blocks of values on different axes in the order of arrival, so its lines mix unrelated values.
    mesh = mesh_of_four()

    def block(x):
        jax.debug.print("{} {}", x[0, 0], lax.axis_index("a"))
        return x

    mapped = jax.shard_map(block, mesh=mesh, in_specs=P("a", "b"), out_specs=P("a", "b"))
    x = spread(mesh, P("a", "b"))
    _, written = printed(lambda: mapped(x))
    with jdw.capture() as run:
        mapped(x)
    assert [event.text for event in run.events] == written.splitlines()
    assert {(event.device, *event.mesh_coords) for event in run.events} == {("",)}


@pytest.mark.behaviour("P5")
@pytest.mark.parametrize("options", [{}, {"partitioned": True}], ids=["plain", "partitioned"])
def test_a_partly_automatic_shard_map_reports_the_manual_axes(options, printed):
    mesh = mesh_of_four()

    def shard(x):
        jax.debug.print("{} on {}", x, lax.axis_index("a"), **options)
        return x

    program = jax.jit(jax.shard_map(shard, mesh=mesh, in_specs=P("a"), out_specs=P("a"), axis_names={"a"}))
    x = jnp.arange(4.0)
    _, written = printed(lambda: program(x))
    with jdw.capture() as run:
        program(x)
    assert Counter(event.text for event in run.events) == Counter(written.splitlines())
    assert all(event.mesh_coords == {"a": int(event.text[-1])} for event in run.events)
    assert {event.device for event in run.events} == {""}  # One of two devices fires, and it is not known which.
    assert run.findings == []


@pytest.mark.skipif(jax.__version_info__ < (0, 9), reason="There JAX does not come back from lowering it")
@pytest.mark.behaviour("P5")
@pytest.mark.parametrize("is_set", [True, False], ids=["set_mesh", "handed over"])
def test_a_shard_map_inside_a_partly_automatic_one_reports_both_axes(is_set):
    mesh = mesh_of_four()

    def inner(x):
        jax.debug.print("{} {}", lax.axis_index("a"), lax.axis_index("b"))
        return x

    def outer(x):
        return jax.shard_map(inner, in_specs=P("b"), out_specs=P("b"), axis_names={"b"})(x)

    program = jax.jit(jax.shard_map(outer, mesh=mesh, in_specs=P("a"), out_specs=P("a"), axis_names={"a"}))
    with jax.set_mesh(mesh) if is_set else nullcontext(), jdw.capture() as run:
        program(jnp.arange(8.0))
    assert places(run) == {
        f"{a} {b}": (f"cpu:{mesh.devices[a, b].id}", {"a": a, "b": b}) for a in range(SIDE) for b in range(SIDE)
    }


@pytest.mark.behaviour("C1")
def test_the_inventory_says_on_how_many_devices_one_of_a_partly_manual_mesh_fires():
    mesh = mesh_of_four()

    def shard(x):
        jax.debug.callback(np.asarray, x)
        return x

    mapped = jax.shard_map(shard, mesh=mesh, in_specs=P("a"), out_specs=P("a"), axis_names={"a"})
    assert "once a call on one device of each of 2 groups" in str(jdw.callbacks(jax.jit(mapped), jnp.arange(4.0)))
