"""Test that functions with a `Ref`, or with values that are no arrays, run and differentiate as without watching."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

X = jnp.linspace(0.5, 1.0, 3)


def of_ref(x):
    ref = jax.new_ref(jnp.zeros_like(x))
    h = jnp.sin(x)
    ref[...] = h
    ref[...] += x
    kept = ref[...] * 2
    return kept.sum()


def in_loop(x):
    acc = jax.new_ref(jnp.zeros_like(x))

    def body(i, _):
        h = x * i
        acc[...] += h

    lax.fori_loop(0, 3, body, None)
    return acc[...].sum()


def handed_on(x):
    @jax.jit
    def inner(ref, y):
        h = ref[...] * y
        ref[...] = h
        return ref[...]

    ref = jax.new_ref(x)
    return inner(ref, x).sum()


DERIVATIVES = {
    "none": jax.jit,
    "grad": lambda f: jax.jit(jax.grad(f)),
    "value_and_grad": lambda f: jax.value_and_grad(jax.jit(f)),
    "vmap of grad": lambda f: jax.jit(jax.vmap(jax.grad(f))),
    "jvp": lambda f: jax.jit(lambda x: jax.jvp(f, (x,), (jnp.ones_like(x),))),
    "linearize": lambda f: jax.jit(lambda x: jax.linearize(f, x)[1](jnp.ones_like(x))),
}


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("f", [of_ref, in_loop, handed_on])
@pytest.mark.each
def test_functions_that_make_a_ref_have_the_same_results_when_watched(f, derivative, watched):
    make = DERIVATIVES[derivative]
    wanted = make(f)(X)
    run = watched(make(f), X)
    jax.tree.map(np.testing.assert_array_equal, run.result, wanted)
    assert not any("failed" in note or "unwatched" in note for note in run.notes), run.notes


def test_values_and_gradients_beside_a_ref_are_reported(watched, agrees):
    run = watched(jax.jit(jax.value_and_grad(of_ref)), X)
    agrees(run["h"], jnp.sin(X))
    agrees(run["grad/h"], jnp.full(3, 2.0))
