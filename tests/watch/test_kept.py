"""What an un-jitted `jax.grad` of a jitted function keeps for its backward pass is not taken for what the program gives."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import lax

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
def test_what_nothing_uses_has_not_the_value_of_what_is_kept(body, watched, agrees):
    @jax.jit
    def loss(w):
        last, ys = lax.scan(lambda c, x: body(w, c, x), X, XS)
        unused = ys.sum(0)
        return (last * X).sum() + 0 * unused.size

    run = watched(lambda: jax.value_and_grad(loss)(W))
    last, _ = lax.scan(lambda c, x: body(W, c, x), X, XS)
    agrees(run["last"], last)
    for name in ("ys", "unused"):
        with pytest.raises(KeyError):
            run[name]
    if body is branching:
        with pytest.raises(KeyError):
            run["h"]


@pytest.mark.parametrize("twice", [False, True])
def test_what_the_program_returns_beside_its_loss_is_told(twice, watched, agrees):
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


def test_what_an_un_jitted_loop_stacks_is_told(watched, agrees):
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
