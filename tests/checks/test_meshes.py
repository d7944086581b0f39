"""Test the checks in a `shard_map`: a finding names the device, and results are those without checks."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, PartitionSpec

import jax_debug_widgets as jdw

MESH = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("a", "b"))
ALL = PartitionSpec(("a", "b"))
X = jnp.arange(16.0)
AT = jnp.array([0, 1, 2, 3, 0, 9, 2, 1])


def read(x, i):
    return x[i] * 2


def steps(x, i):
    return lax.scan(lambda c, k: (c + x[k], k), x[0], i)[0][None]


def same(x, _):
    return x[:1] + jnp.arange(4.0)[jnp.array([5])]


def added(x, _):
    y = jnp.log(x - 6)
    return lax.psum(y, "a") + lax.ppermute(y, "b", [(0, 1), (1, 0)])


def cast(x, i):
    return (x * 1e9).astype(jnp.int32) + i[0]


@pytest.mark.parametrize(
    ("function", "option", "said"),
    [
        (read, "oob", "index 9 is outside axis 0 (size 4), device 2"),
        (steps, "oob", "index 9 is outside axis 0 (size 4), step 1, device 2"),
        (same, "oob", "index 5 is outside axis 0 (size 4)"),
        (added, "nonfinite", "`jnp.log(x - 6)` is NaN, device 0"),
        (cast, "casts", "13 values do not fit int32, the first is 3e+09, device 0"),
    ],
)
def test_a_finding_in_a_shard_map_says_the_device(function, option, said):
    mapped = jax.shard_map(function, mesh=MESH, in_specs=(ALL, ALL), out_specs=ALL)
    plain = jax.jit(mapped)(X, AT)
    with jdw.capture(check=option) as run:
        checked = jax.jit(mapped)(X, AT)
    np.testing.assert_array_equal(checked, plain)
    assert [one.headline for one in run.findings] == [said]


def test_reads_in_a_loop_around_a_shard_map_are_checked():
    mapped = jax.shard_map(read, mesh=MESH, in_specs=(ALL, ALL), out_specs=ALL)

    def loop(x, i):
        return lax.scan(lambda sums, k: (sums + mapped(x, i + k), None), jnp.zeros(8), jnp.arange(-6, 3))[0]

    with jdw.capture(check="oob") as run:
        jax.jit(loop)(X, AT)
    (finding,) = run.findings
    assert finding.headline == "index -6 is outside axis 0 (size 4), step 0, device 0"


SET = jax.make_mesh((4,), ("i",))


@pytest.mark.parametrize("given", [{"mesh": SET}, {}], ids=["mesh given", "mesh of set_mesh"])
@pytest.mark.parametrize(
    ("function", "option", "said"),
    [
        (read, "oob", "index 9 is outside axis 0 (size 4), device 2"),
        (steps, "oob", "index 9 is outside axis 0 (size 4), step 1, device 2"),
        (lambda x, _: lax.psum(jnp.log(x - 6), "i"), "nonfinite", "`jnp.log(x - 6)` is NaN, device 0"),
    ],
)
def test_what_runs_under_set_mesh_is_checked(given, function, option, said):
    axes = PartitionSpec("i")
    with jax.set_mesh(SET):
        arguments = [jax.device_put(one, jax.NamedSharding(SET, axes)) for one in (X, AT)]
        mapped = jax.jit(jax.shard_map(function, in_specs=(axes, axes), out_specs=axes, check_vma=False, **given))
        plain = mapped(*arguments)
        with jdw.capture(check=option) as run:
            checked = mapped(*arguments)
    np.testing.assert_array_equal(checked, plain)
    assert [one.headline for one in run.findings] == [said]
    assert not any("not checked" in note for note in run.notes)
