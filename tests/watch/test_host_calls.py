"""Test results of host functions under `vmap`, where JAX may call them in a loop of its own, lane by lane."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback

XS = np.linspace(-1.0, 2.0, 12, dtype=np.float32).reshape(3, 4)
METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all")
LINE = jax.ShapeDtypeStruct((4,), jnp.float32)


def asked(host, result, x, method):
    if method == "io_callback":
        return io_callback(host, result, x)
    return jax.pure_callback(host, result, x, vmap_method=method)


def curve(x, method):
    y = asked(np.sin, LINE, x * np.float32(2), method)
    return y + np.float32(1)


def twice(x, method):
    """Return two results that the host function computes from one operand."""
    s, c = asked(lambda x: (np.sin(x), np.cos(x)), (LINE, LINE), x, method)
    return s * np.float32(2) + c


def tree(x, method):
    out = asked(lambda x: {"s": np.sin(x), "c": np.cos(x)}, {"s": LINE, "c": LINE}, x, method)
    return out["s"] + out["c"]


def repeated(f):
    def step(x, _):
        return x + np.float32(0.1), f(x)

    return lambda xs: lax.scan(step, xs, length=2)[1]


AROUND = {
    "jit of vmap": lambda f: jax.jit(jax.vmap(f)),
    "vmap of jit": lambda f: jax.vmap(jax.jit(f)),
    "vmap in a loop": lambda f: jax.jit(repeated(jax.vmap(f))),
    "loop in vmap": lambda f: jax.jit(jax.vmap(repeated(f))),
    "vmap of vmap": lambda f: jax.jit(lambda xs: jax.vmap(jax.vmap(f))(xs[None])),
    "other axes": lambda f: jax.jit(lambda xs: jax.vmap(f, in_axes=1, out_axes=1)(xs.T)),
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("method", [*METHODS, "io_callback"])
@pytest.mark.each
def test_results_of_host_functions_have_their_name_in_each_lane(method, around, watched, agrees):
    run = watched(AROUND[around](lambda x: curve(x, method)), XS, watch="y")
    assert list(run.values) == ["y"]
    for step in range(2 if "loop" in around else 1):
        agrees(run["y"], np.sin(2 * (XS + np.float32(0.1) * step)), step)


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("method", [*METHODS, "io_callback"])
@pytest.mark.each
def test_several_results_of_the_host_have_their_names(method, around, watched, agrees):
    run = watched(AROUND[around](lambda x: twice(x, method)), XS, watch="s,c")
    assert sorted(run.values) == ["c", "s"]
    agrees(run["s"], np.sin(XS))
    agrees(run["c"], np.cos(XS))


@pytest.mark.parametrize("method", [*METHODS, "io_callback"])
def test_a_tree_that_the_host_returns_is_named_as_without_vmap(method, watched, agrees):
    plain = watched(jax.jit(lambda x: tree(x, method)), XS[0], watch="out")
    run = watched(jax.jit(jax.vmap(lambda x: tree(x, method))), XS, watch="out")
    assert list(run.values) == list(plain.values)
    for name, value in zip(run.values, (np.cos(XS), np.sin(XS)), strict=True):
        agrees(run[name], value)


def test_a_loop_of_the_users_around_the_host_is_a_loop(watched, agrees):
    """The loop returns a tuple of one, as the loop does that `vmap` makes of a host call."""

    def f(xs):
        out = lax.map(lambda x: (asked(np.sin, LINE, x, "sequential"),), xs)
        return out[0] + np.float32(1)

    run = watched(jax.jit(f), XS, watch="out")
    assert list(run.values) == ["out[0]"]
    agrees(run["out[0]"], np.sin(XS))
