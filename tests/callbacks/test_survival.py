"""Test the table of what each kind of callback survives, against JAX itself."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import jax_debug_widgets as jdw
from jax_debug_widgets.taps.survival import REFUSED, TRANSFORMS
from tests.callbacks.bodies import like
from tests.devices import cpu_mesh

X = np.ones(2, np.float32)


def host(x):
    return np.asarray(x)


def silent(_):
    pass


def debugging(*, ordered):
    return lambda x: (jax.debug.callback(silent, x, ordered=ordered), x * 2)[1]


VARIANTS = {
    "debug": debugging(ordered=False),
    "ordered debug": debugging(ordered=True),
    "pure": lambda x: jax.pure_callback(host, like(x), x),
    "pure with vmap_method": lambda x: jax.pure_callback(host, like(x), x, vmap_method="expand_dims"),
    "io": lambda x: io_callback(host, like(x), x),
    "ordered io": lambda x: io_callback(host, like(x), x, ordered=True),
    "sharding": lambda x: (jax.debug.inspect_array_sharding(x, callback=silent), x * 2)[1],
}


def mesh(*shape: int):
    names = ("d", "e")[: len(shape)]
    return cpu_mesh(shape, names)


def mapped(f, on, **options: Any):
    return jax.jit(jax.shard_map(f, mesh=on, in_specs=P("d"), out_specs=P("d"), **options))


def looped(f):
    return jax.vmap(lambda x: jax.lax.while_loop(lambda c: c[0] < x, lambda c: (c[0] + 1, f(c[1])), (0.0, x))[1])


WRAPS = {
    "jit": jax.jit,
    "vmap": jax.vmap,
    "grad": lambda f: jax.grad(lambda x: f(x).sum()),
    "scan": lambda f: lambda x: jax.lax.scan(lambda c, _: (f(c), None), x, length=2)[0],
    "cond": lambda f: lambda x: jax.lax.cond(x[0] > 0, f, lambda x: x, x),
    "checkpoint": lambda f: jax.jit(jax.checkpoint(f)),
    "vmap of cond": lambda f: jax.vmap(lambda x: jax.lax.cond(x > 0, f, lambda x: x, x)),
    "vmap of while": looped,
    "shard_map": lambda f: mapped(f, mesh(2)),
    "partly manual shard_map": lambda f: mapped(f, mesh(2, 1), axis_names={"d"}),
    "sharded jit": lambda f: lambda x: jax.jit(f)(jax.device_put(x, NamedSharding(mesh(2), P("d")))),
}


def survives(variant, transform):
    try:
        jax.block_until_ready(WRAPS[transform](VARIANTS[variant])(jnp.asarray(X)))
        jax.effects_barrier()
    except Exception as error:  # A refusal may have any type, but must be about callbacks.
        if not any(word in str(error) for word in ("callback", "effect")):
            raise
        return False
    return True


@pytest.mark.behaviour("C1")
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("variant", REFUSED)
def test_the_table_of_refused_transformations_agrees_with_jax(variant, transform):
    if transform == "partly manual shard_map" and jax.__version_info__ < (0, 10):
        pytest.skip("XLA of these versions ends the process")
    if (variant, transform) == ("ordered io", "sharded jit") and jax.__version_info__ < (0, 10):
        pytest.skip("these versions refuse it")
    assert survives(variant, transform) == (transform not in REFUSED[variant])
    with jdw.capture():
        assert survives(variant, transform) == (transform not in REFUSED[variant])


def test_the_table_is_about_these_variants_and_transforms():
    assert REFUSED.keys() == VARIANTS.keys()
    assert WRAPS.keys() == set(TRANSFORMS)
    assert all(set(refused) <= set(TRANSFORMS) for refused in REFUSED.values())
