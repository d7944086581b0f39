"""G4: test that exports over a mesh of devices are equal to the bit, with exchanges, gradients and shardings."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import jax_debug_widgets as jdw
from tests.devices import cpu_mesh
from tests.graphs.exports import text_in

pytestmark = pytest.mark.cpu("the written program makes its mesh of the default devices")

X = jnp.arange(32.0).reshape(8, 4) * 0.1
ROWS, ALL = PartitionSpec("i"), PartitionSpec()


def exchanging(x, w):
    def per_device(x, w):
        h = jnp.tanh(x @ w)
        whole = lax.all_gather(h, "i", tiled=True)
        part = lax.psum_scatter(whole, "i", scatter_dimension=0, tiled=True)
        moved = lax.ppermute(h, "i", [(j, (j + 1) % 4) for j in range(4)])
        turned = lax.all_to_all(whole, "i", 0, 1, tiled=True)
        return lax.pmean(h, "i"), part, moved, turned, lax.all_gather(h, "i", axis=1)

    specs = (ALL, ROWS, ROWS, ROWS, ROWS)
    return jax.shard_map(per_device, mesh=cpu_mesh((4,), ("i",)), in_specs=(ROWS, ALL), out_specs=specs)(x, w)


def gradient(x, w):
    @jax.shard_map(
        mesh=cpu_mesh((2, 2), ("a", "b")),
        in_specs=(PartitionSpec("a", "b"), PartitionSpec("b", None)),
        out_specs=PartitionSpec("a", None),
    )
    def product(x, w):
        return lax.psum(x @ w, "b")

    return jax.value_and_grad(lambda w: jnp.sum(product(x, w) ** 2))(w)


def over_one_axis(x, _):
    mesh = cpu_mesh((2, 2), ("a", "b"))
    spec = PartitionSpec("a")
    scaled = jax.shard_map(lambda x: x * lax.psum(1.0, "a"), mesh=mesh, in_specs=spec, out_specs=spec, axis_names={"a"})
    return jax.jit(scaled)(x)


def placed(x, _):
    mesh = cpu_mesh((4,), ("i",))
    y = lax.with_sharding_constraint(x * 2.0, NamedSharding(mesh, ROWS))
    return jnp.sum(y, 0), jax.device_put(x, NamedSharding(mesh, PartitionSpec(None, "i")))


@pytest.mark.behaviour("G4")
@pytest.mark.parametrize("function", [exchanging, gradient, over_one_axis, placed])
def test_exported_programs_over_a_mesh_are_equal_to_the_bit(function, tmp_path):
    written = jdw.to_folder(function, X, X.T, path=tmp_path / "written")
    written.check()
    assert written.is_same, written.difference
    assert "bind(" not in text_in(written.path)


@pytest.mark.behaviour("G4")
@pytest.mark.skipif(not hasattr(jax.sharding, "reshard"), reason="this JAX has no jax.sharding.reshard")
def test_explicit_shardings_are_written(tmp_path):
    mesh = cpu_mesh((4,), ("i",), AxisType.Explicit)

    def f(x):
        return x * 2.0, jax.sharding.reshard(x, NamedSharding(mesh, ALL))

    written = jdw.to_folder(f, jax.device_put(X, NamedSharding(mesh, ROWS)), path=tmp_path / "written")
    written.check()
    assert written.is_same, written.difference
