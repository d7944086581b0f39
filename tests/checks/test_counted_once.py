"""Test that a fault which a derivative computes again is counted once, as in the forward pass."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw

X = np.arange(10.0, dtype=np.float32)


def sine_of(x, i):
    return jnp.sin(x[i])


def in_a_scan(x, i):
    return lax.scan(lambda total, k: (total * jnp.sin(x[i + k]), None), 1.0, jnp.arange(1))[0]


again = jax.checkpoint(sine_of)
PROGRAMS = {
    "plain": jax.jit(jax.value_and_grad(sine_of)),
    "checkpoint": jax.jit(jax.value_and_grad(again)),
    "checkpoint, the gradient alone": jax.jit(jax.grad(again)),
    "checkpoint of a jitted function": jax.jit(jax.value_and_grad(jax.checkpoint(jax.jit(sine_of)))),
    "checkpoint of a loop": jax.jit(jax.value_and_grad(jax.checkpoint(in_a_scan))),
    "un-jitted derivative": jax.value_and_grad(jax.jit(sine_of)),
    "un-jitted derivative of a checkpoint": jax.value_and_grad(jax.jit(again)),
    "tangents": jax.jit(lambda x, i: jax.jvp(lambda x: sine_of(x, i), (x,), (x,))),
    "second derivative": jax.jit(lambda x, i: jax.jvp(jax.grad(lambda x: sine_of(x, i)), (x,), (x,))),
    "second derivative of a checkpoint": jax.jit(lambda x, i: jax.jvp(jax.grad(lambda x: again(x, i)), (x,), (x,))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_index_outside_is_counted_once(name):
    with jdw.capture(check="oob") as run:
        PROGRAMS[name](X, 12)
    (finding,) = run.findings
    assert "index 12 is outside axis 0 (size 10)" in finding.headline
    assert finding.seen == 1 and "indices were outside" not in finding.why, finding


def test_two_indices_out_of_bounds_in_one_call_count_one_call():
    with jdw.capture(check="oob") as run:
        jax.jit(lambda x, i: sine_of(x, i) + sine_of(x, i + 1))(X, 12)
    assert "2 indices were outside, in 1 call." in run.findings[0].why


@pytest.mark.parametrize("transformed", [lambda f: f, jax.checkpoint], ids=["plain", "checkpoint"])
def test_nans_and_casts_are_counted_once(transformed):
    @transformed
    def loss(x):
        return jnp.sum(jnp.log(x - 5) * (x * 100).astype(jnp.int8).astype(jnp.float32))

    with jdw.capture(check=["nonfinite", "casts"]) as run:
        jax.jit(jax.value_and_grad(loss))(X)
    seen = {finding.kind: finding.seen for finding in run.findings}
    assert seen == {"nonfinite": 6, "casts": 8}


def test_a_derivative_that_is_not_finite_is_found_in_what_is_computed_again():
    with jdw.capture(check="nonfinite") as run:
        jax.jit(jax.value_and_grad(jax.checkpoint(lambda x: jnp.sin(jnp.sqrt(x)))))(np.float32(0))
    (finding,) = run.findings
    assert finding.headline == "the derivative of `jnp.sqrt(x)` is infinite"


def test_a_check_that_is_computed_for_all_iterations_at_once_makes_no_lanes():
    with jdw.capture(check="oob") as run:
        jax.jit(lambda x, ids: lax.scan(lambda total, i: (total + x[i].sum(), None), 0.0, ids)[0])(
            X, np.zeros((3, 1), int)
        )
        jax.jit(lambda x, i: jnp.take_along_axis(x, i, -1))(np.ones((3, 5)), np.array([[1], [7], [2]]))
    assert run.findings[0].headline == "index 7 is outside axis 1 (size 5)"
