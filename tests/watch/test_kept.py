"""Test that residuals of an unjitted `jax.grad` of a jitted function are not taken for results of the program."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jax_debug_widgets._jax.compat import versions
from tests.devices import cpu_mesh

W = jnp.linspace(-1.0, 1.0, 16).reshape(4, 4)
X = jnp.linspace(-2.0, 1.0, 12).reshape(3, 4)
XS = jnp.stack([X, X * 0.3, X * 0.7])


@jax.jit
def step(w, c, x):
    h = jnp.sin(c @ w) * x
    k = jnp.tanh(h) * c
    return k, h


@jax.jit
def branching(w, c, x):
    h, r = lax.cond(w.sum() > -1, lambda a, b: (a * jnp.sin(b), a * b), lambda a, b: (a - b, jnp.sin(a) * a), c, x)
    k = jnp.tanh(c @ w) * r
    return k, h


def plain(w, c, x):
    return jnp.tanh(jnp.sin(c @ w) * x) * c, c


@pytest.mark.parametrize("body", [step, branching, plain])
def test_an_unused_result_does_not_get_the_value_of_a_residual(body, watched, agrees):
    @jax.jit
    def loss(w):
        last, ys = lax.scan(lambda c, x: body(w, c, x), X, XS)
        unused = ys.sum(0)
        return (last * X).sum() + 0 * unused.size

    run = watched(lambda: jax.value_and_grad(loss)(W))
    last, ys = lax.scan(lambda c, x: body(W, c, x), X, XS)
    agrees(run["last"], last)
    told = [name for name in ("ys", "unused") if name in run.values]
    assert not told or (body is plain and told == ["ys"]), "since jax 0.12 what is carried is kept as what is given"
    for name in told:
        agrees(run[name], ys)
    if body is branching:
        with pytest.raises(KeyError):
            run["h"]


@pytest.mark.parametrize("twice", [False, True])
def test_the_auxiliary_output_of_an_unjitted_gradient_has_its_names(twice, watched, agrees):
    @jax.jit
    def loss(w):
        last, ys = lax.scan(lambda c, x: step(w, c, x), X, XS)
        e = jnp.exp(last)
        return (last * X).sum(), (ys, e)

    def slope(w):
        (_, (ys, _)), g = jax.value_and_grad(loss, has_aux=True)(w)
        return (g * g).sum(), ys

    run = watched(lambda: (jax.value_and_grad(slope, has_aux=True) if twice else slope)(W))
    last, ys = lax.scan(lambda c, x: step(W, c, x), X, XS)
    agrees(run["last"], last)
    agrees(run["ys"], ys)
    agrees(run["e"], jnp.exp(last))


def test_the_stacked_output_of_an_unjitted_loop_has_its_names(watched, agrees):
    def loss(w):
        def body(c, x):
            h = jnp.sin(c @ w) * x
            k = jnp.tanh(h) * c
            return k, h

        last, ys = lax.scan(body, X, XS)
        return (last * X).sum(), ys

    run = watched(lambda: jax.value_and_grad(loss, has_aux=True)(W))
    _, ys = lax.scan(lambda c, x: step(W, c, x), X, XS)
    for number in range(3):
        agrees(run["h"], ys[number], number)


@pytest.mark.skipif(
    versions.TRACEBACKS_LEAVE_THEIR_PROGRAM, reason="on jax 0.8 it is told as a second execution (docs/limits.md)"
)
def test_a_value_that_jax_moves_out_of_a_loop_does_not_get_the_name_of_its_statement(watched, agrees):
    """JAX computes the index of the branch before the loop, and passes it to the body in the place of `t`."""

    @jax.jit
    def loss(w, x):
        @jax.jit
        def body(c, t):  # noqa: ARG001
            h = lax.cond(w.sum() > -1, lambda a, b: jnp.tanh(a) * b, lambda a, b: a - b, c, c)
            k = jnp.sin(h)
            return k, k

        last, _ = lax.scan(body, x, jnp.stack([x, x]))
        return (last * jnp.cos(x @ w)).sum()

    run = watched(lambda: jax.grad(loss)(W, X))
    agrees(run["h"], jnp.tanh(X) * X)
    assert run["h"].site.watch.name == "h"
    with pytest.raises(KeyError):
        run["t"]


def test_residuals_of_a_branch_in_a_shard_map_do_not_get_the_names_of_its_results(watched, whole):
    mesh = cpu_mesh((2,), ("d",))

    def loss(w, x):
        y = jnp.sin(x @ w)
        q, r = lax.cond(w.sum() > -1, lambda a, b: (a + b, jnp.sin(b)), lambda a, b: (b, a * 2), y, x)
        return lax.psum((r * y + q).sum(), "d")

    spec = jax.sharding.PartitionSpec
    mapped = jax.shard_map(loss, mesh=mesh, in_specs=(spec(), spec("d")), out_specs=spec())
    x = jnp.concatenate([X, X])[:4]
    run = watched(jax.jit(jax.grad(mapped)), W, x, values=True)
    for name, value in {"q": jnp.sin(x @ W) + x, "r": jnp.sin(x)}.items():
        for told in whole(run, name):  # Values that the backward pass does not need are left out.
            assert any(np.allclose(told, part) for part in np.split(value, 2))


def test_a_constant_of_a_mapped_function_does_not_make_two_executions_of_one(watched, agrees):
    """The first round is left out. The derivative of `tanh` has a constant 1 that is put on the mesh."""
    mesh = jax.make_mesh((1,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))

    def loss(x):
        h = jnp.sin(x)
        for _ in range(2):
            y = jnp.tanh(h)
        return (jnp.cos(y) * h).sum()

    spec = jax.sharding.PartitionSpec("d")
    mapped = jax.shard_map(jax.grad(loss), mesh=mesh, in_specs=spec, out_specs=spec)
    run = watched(jax.jit(mapped), X)
    h = jnp.sin(X)
    agrees(run["y"], jnp.tanh(h))
    agrees(run["grad/y"], -jnp.sin(jnp.tanh(h)) * h)
