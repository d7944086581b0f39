"""Test lanes of several `vmap`s, in and around loops, jitted and checkpointed functions.

The expected values are those of the same function without `vmap` and `jit`, one lane after the other.
"""

from __future__ import annotations

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

SIZES = (2, 5, 6)
WEIGHTS = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
INPUTS = [np.random.default_rng(n).normal(size=(size, 4)).astype(np.float32) for n, size in enumerate(SIZES)]


def model(*xs):
    h = jnp.tanh(functools.reduce(lambda x, y: x * np.float32(0.9) + y, xs) @ WEIGHTS)
    return (h * h).sum()


def hidden(*xs):
    return np.tanh(functools.reduce(lambda x, y: x * np.float32(0.9) + y, xs) @ WEIGHTS)


def repeated(f):
    """Run `f` in a loop whose carry stays its first argument."""

    def run(x, *others):
        def step(x, _):
            total = f(x, *others)
            return x + total.sum() * np.float32(0), total

        return lax.scan(step, x, length=2)[1].sum(0)

    return run


def counted(f):
    return lambda *xs: lax.fori_loop(0, 2, lambda _, total: f(*xs) + total * np.float32(0), jnp.zeros_like(f(*xs)))


def chosen(f):
    return lambda *xs: lax.cond(xs[0].sum() > -1e6, f, lambda *xs: jnp.zeros_like(f(*xs)), *xs)


def differentiated(f):
    return lambda *xs: jax.value_and_grad(lambda *xs: f(*xs).sum())(*xs)[0]


AROUND = {
    "jit": jax.jit,
    "checkpoint": jax.checkpoint,
    "scan": repeated,
    "cond": chosen,
    "grad": differentiated,
    "grad of checkpoint": lambda f: differentiated(jax.checkpoint(f)),
    "grad of scan": lambda f: differentiated(repeated(f)),
}


def by_lane(f, axes, around, place, depth):
    """Return `f` under `depth` vmaps with `around` at one place, where 0 is inside all of them."""
    for number in range(depth):
        f = around(f) if number == place else f
        mapped = depth - 1 - number
        f = jax.vmap(f, [axes if position == mapped else None for position in range(depth)])
    return around(f) if place == depth else f


def oriented(axes, depth):
    return [one if axes == 0 else np.moveaxis(one, 0, axes) for one in INPUTS[:depth]]


@pytest.mark.parametrize("axes", [0, 1])
@pytest.mark.parametrize(("depth", "place"), [(2, 0), (2, 1), (2, 2), (3, 0), (3, 1), (3, 2)])
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.each
def test_each_lane_has_the_value_of_the_program_without_vmap(around, depth, place, axes, watched):
    jax.clear_caches()  # Lanes are noted while JAX batches, so caches of other tests would hide missing ones.
    program = jax.jit(by_lane(model, axes, AROUND[around], place, depth))
    run = watched(program, *oriented(axes, depth), watch="lanes/h")
    wanted = np.empty((*SIZES[:depth], 3), np.float32)
    for lane in itertools.product(*map(range, SIZES[:depth])):
        wanted[lane] = hidden(*(one[number] for one, number in zip(INPUTS, lane, strict=False)))
    assert run.values
    for value in run.values.values():  # This includes recomputed values.
        assert value.site.watch.lanes == SIZES[:depth]
        for statistic, reduced in {"mean": wanted.mean(-1), "min": wanted.min(-1), "max": wanted.max(-1)}.items():
            np.testing.assert_allclose(value.lanes[statistic][-1], reduced, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("around", ["jit", "checkpoint", "scan"])
def test_gradients_have_all_lanes_of_their_values(around, watched):
    jax.clear_caches()
    mapped = by_lane(model, 0, AROUND[around], 1, 2)
    times = 2 if around == "scan" else 1
    run = watched(jax.jit(jax.grad(lambda *xs: mapped(*xs).sum())), *INPUTS[:2], watch="lanes/grad/h")
    for i, j in itertools.product(*map(range, SIZES[:2])):
        gradient = 2 * hidden(INPUTS[0][i], INPUTS[1][j])
        for step in range(times):
            np.testing.assert_allclose(run["grad/h"].lanes["max"][step, i, j], gradient.max(), rtol=1e-4)


def test_a_jitted_function_in_two_vmaps_has_the_lanes_of_each(watched):
    """One jitted function is mapped over numbers and over arrays: each use has its own lanes."""
    jax.clear_caches()

    @jax.jit
    def square(x):
        h = x * x
        return h + np.float32(1)

    numbers, rows = np.arange(3, dtype=np.float32), np.arange(6, dtype=np.float32).reshape(2, 3)
    program = jax.jit(lambda: (jax.vmap(square)(numbers), jax.vmap(square)(rows)))
    run = watched(program, watch="lanes/h")
    assert [value.site.watch.lanes for value in run.values.values()] == [(3,), (2,)]
    of_numbers, of_rows = run.values.values()
    np.testing.assert_allclose(of_numbers.lanes["value"][0], numbers**2)
    np.testing.assert_allclose(of_rows.lanes["mean"][0], (rows**2).mean(1), rtol=1e-6)


def test_vmaps_in_another_order_have_their_lanes_in_theirs(watched):
    """Two vmaps of equal size are in one program; a value whose lanes are ambiguous has none."""
    jax.clear_caches()
    xs, ys = INPUTS[0][:2], INPUTS[1][:4]
    swapped = jax.jit(jax.vmap(jax.vmap(repeated(model), (0, None)), (None, 0)))
    run = watched(swapped, xs, ys, watch="lanes/h")
    wanted = np.array([[hidden(x, y).mean() for x in xs] for y in ys])
    np.testing.assert_allclose(run["h"].lanes["mean"][-1], wanted, rtol=1e-4, atol=1e-5)
