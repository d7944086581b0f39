"""Define programs for runs that are written and read again, and the comparison of two runs."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import io_callback
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import jax_debug_widgets as jdw


def scanned(w):
    def body(c, i):
        h = jnp.tanh(c * w)
        jax.debug.print("{i} h {h:.3f}", i=i, h=h.sum())
        return h, h

    return lax.scan(body, w, jnp.arange(6))[0].sum()


@jax.jit
def trained(w):
    loss, g = jax.value_and_grad(scanned)(w)
    jax.debug.print("loss {loss}", loss=loss)
    return w - 0.1 * g


@jax.jit
def batched(x):
    def one(y, z):
        jax.debug.print("lane {y} of {all}", y=y, all=x)
        jax.debug.callback(lambda *_: None, z, {"k": y, "s": "text"})
        lax.cond(y > 2, lambda: jax.debug.print("large {y}", y=y), lambda: None)
        return y * 2

    return jax.vmap(one)(x, jnp.ones((len(x), 5, 7)) * x[:, None, None])


@jax.jit
def searched(x):
    def body(x):
        jax.debug.print("search {x!r}", x=x, ordered=True)
        return x * 2

    return lax.while_loop(lambda x: x < 20, body, x)


def sharded():
    mesh = Mesh(np.array(jax.devices("cpu")[:2]), ("i",))

    def shard(x):
        jax.debug.print("shard {x}", x=x.sum())
        return x * 2

    return jax.jit(jax.shard_map(shard, mesh=mesh, in_specs=P("i"), out_specs=P("i")))(jnp.arange(4.0))


@jax.jit
def odd(x):
    y = io_callback(lambda x: np.asarray(x) * 2, jax.ShapeDtypeStruct((), jnp.float32), x)
    jax.debug.print("log {}", jnp.log(y - y))
    return y


def everything():
    """Return a run with loops, gradients, lanes, phantoms, devices, whole arrays, callbacks and infinities."""
    with jdw.capture(title="everything", watch="h,y", values=True, name="all", config={"lr": 3e-4}) as run:
        for _ in range(2):
            trained(jnp.full(32, 0.5))
        batched(jnp.arange(5.0))
        searched(jnp.float32(1))
        sharded()
        odd(jnp.float32(1))
    return run


EVENT = ("text", "step", "lane", "call", "device", "phantom", "occurrence", "time_ns", "site", "mesh_coords", "seq")


def assert_same_events(ours, theirs):
    """Assert that all events are the same, with values equal to the bit."""
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert [getattr(one, name) for name in EVENT] == [getattr(other, name) for name in EVENT]
        assert bits(one.values) == bits(other.values)


def bits(values: Any) -> list[Any]:
    """Return dtype, shape and bytes of values, which tell any two values apart."""
    return [(value.dtype, value.shape, np.ascontiguousarray(value).tobytes()) for value in map(np.asarray, values)]
