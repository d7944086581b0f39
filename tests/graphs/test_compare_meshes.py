"""Test `jdw.compare` of functions that run on several devices."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import PartitionSpec

import jax_debug_widgets as jdw
from tests.devices import cpu_mesh

pytestmark = pytest.mark.cpu("the mesh has several devices")

ROWS, ALL = PartitionSpec("i"), PartitionSpec()
X = jnp.arange(12.0).reshape(4, 3) / 12


def summed(grown):
    mesh = cpu_mesh((4,), ("i",))

    def per_device(x):
        h = jnp.tanh(x)
        h = grown(h, lax.axis_index("i"))
        return lax.psum(h, "i")

    return lambda x: jax.shard_map(per_device, mesh=mesh, in_specs=ROWS, out_specs=ALL)(x) * 2


def of_device_2(h, i):
    return h * jnp.where(i == 2, 1.5, 1.0)


@pytest.mark.behaviour("G1")
def test_the_first_divergence_in_a_shard_map_is_the_line_in_its_body_and_the_device():
    found = jdw.compare(summed(lambda h, i: h * jnp.where(i == 2, 1.0, 1.0)), summed(of_device_2), X)
    assert found.first.after.source.line == of_device_2.__code__.co_firstlineno + 1
    assert [one.after.primitive for one in found.around] == ["shard_map"]
    assert "shard_map: the first that differs; its first index is the device" in str(found)


@pytest.mark.behaviour("G1")
def test_a_value_that_differs_on_one_device_is_found_before_the_sum_over_all():
    found = jdw.compare(
        summed(lambda h, i: h + jnp.where(i == 9, 0.5, 0.0)), summed(lambda h, i: h + jnp.where(i == 3, 0.5, 0.0)), X
    )
    assert not found.equal and found.first.after.primitive == "eq"
    assert found.first.figures[0].where == (3,)


@pytest.mark.behaviour("G1")
def test_the_gradient_of_a_shard_map_is_compared_inside_too():
    def loss(power):
        run = summed(lambda h, _: h**power)
        return jax.grad(lambda x: jnp.sum(run(x)))

    found = jdw.compare(loss(2), loss(3), X)
    assert found.around and found.first.after.primitive != "shard_map"
    assert jdw.compare(loss(2), loss(2), X).equal


@pytest.mark.behaviour("G1")
def test_a_body_that_runs_only_compiled_is_compared_as_a_whole():
    mesh = cpu_mesh((4,), ("i",))

    def f(scale):
        def on_host(x):
            return np.asarray(x) * scale

        def per_device(x):
            return jax.pure_callback(on_host, jax.typeof(x), x)

        return jax.jit(jax.shard_map(per_device, mesh=mesh, in_specs=ROWS, out_specs=ROWS, check_vma=False))

    found = jdw.compare(f(1), f(2), X)
    assert not found.equal and found.first.after.primitive in ("shard_map", "pure_callback")


def looped(grown, *, reverse=False):
    mesh = cpu_mesh((4,), ("i",))

    def per_device(x):
        def inner(c, step):
            d = grown(c, step, lax.axis_index("i"))
            return d + lax.psum(d, "i") / 8, step

        def outer(c, step):
            return lax.scan(inner, c, jnp.arange(2.0) + step, reverse=reverse)

        return lax.scan(outer, x, jnp.arange(3.0), reverse=reverse)[0]

    return lambda x: jax.shard_map(per_device, mesh=mesh, in_specs=ROWS, out_specs=ROWS)(x) * 2


@pytest.mark.behaviour("G1")
@pytest.mark.parametrize(("reverse", "steps"), [(False, (1, 1)), (True, (2, 1))])
def test_the_step_of_a_loop_in_a_shard_map_is_told(reverse, steps):
    def of(factor):
        return looped(lambda c, step, i: c * jnp.where((step >= 2) & (i == 2), factor, 1.0), reverse=reverse)

    found = jdw.compare(of(1.5), of(1.25), X)
    assert [one.after.primitive for one in found.around] == ["shard_map", "scan", "scan"], found
    assert found.first.after.source.line == of.__code__.co_firstlineno + 1
    assert found.steps == steps, found
    assert jdw.compare(of(1.5), of(1.5), X).equal
