"""Test which values a program computes before a loop, as its equations' positions show."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jax_debug_widgets as jdw


def normed(x):
    size = jnp.sqrt((x * x).sum())
    unit = x / size
    return unit


def model(x):
    before = normed(x)

    def body(carry, i):
        inside = carry * 0.5 + i
        return inside, inside.sum()

    last, sums = lax.scan(body, before, jnp.arange(3.0))
    after = last * sums.sum()
    return after.sum()


def rolled(x):
    start = normed(x)

    @jax.jit
    def run(first):
        begun = first + 1
        return lax.while_loop(lambda one: one.sum() < 9, grown, begun)

    def grown(one):
        larger = one * 2
        return larger

    end = run(start)
    return (end + start).sum()


def before_the_loop(run, inside):
    """Return the names outside of loops that come before the loop of `inside`."""
    positions = {site.label: site.watch.position for site in run.sites if site.watch and site.watch.role == "value"}
    loop = positions[inside]

    def is_before(position):
        apart = next((one for one in zip(position, loop, strict=False) if one[0] != one[1]), None)
        return apart is not None and apart[0] < apart[1]

    return {name for name, position in positions.items() if is_before(position)}


@pytest.mark.parametrize(
    ("f", "shape"),
    [
        (model, (3,)),
        (jax.grad(model), (3,)),
        (jax.vmap(model), (2, 3)),
        (jax.checkpoint(model), (3,)),
        (jax.grad(jax.checkpoint(model)), (3,)),
    ],
    ids=["plain", "grad", "vmap", "checkpoint", "grad of checkpoint"],
)
def test_values_before_a_scan_are_known_to_come_first(f, shape):
    with jdw.capture(watch=True) as run:
        jax.jit(f)(jnp.ones(shape))
    assert before_the_loop(run, "inside") == {"x", "size", "unit", "before"}


def test_values_before_a_while_of_a_jitted_function_are_known_to_come_first():
    with jdw.capture(watch=True) as run:
        jax.jit(rolled)(jnp.arange(1.0, 4.0))
    assert before_the_loop(run, "larger") == {"x", "size", "unit", "start", "first", "begun"}
