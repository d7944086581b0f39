"""Test real programs, some with unmodified libraries: nearly every assigned array can be watched by its name."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from typing import Any

import blackjax
import equinox
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import linen
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets.watch import named_places
from jax_debug_widgets.watch.choosing.why_unwatched import MINGLED, NOT_COMPILED, NOT_NEEDED, NOT_WATCHED
from tests.watch.unjitted import assigned_un_jitted


@pytest.fixture(autouse=True, scope="module")
def quickly_compiled():
    """Compile without optimisation: programs run once, and names do not depend on it."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


KEY = jax.random.key(0)
TOKENS = jax.random.normal(jax.random.key(1), (6, 16))


class Block(linen.Module):
    """A transformer block whose layers are scanned."""

    @linen.compact
    def __call__(self, x, _):
        normed = linen.LayerNorm()(x)
        attended = linen.MultiHeadDotProductAttention(num_heads=2)(normed)
        x = x + attended
        hidden = linen.gelu(linen.Dense(32)(linen.LayerNorm()(x)))
        projected = linen.Dense(16)(hidden)
        return x + projected, None


def flax_transformer() -> Any:
    stack = linen.scan(Block, variable_axes={"params": 0}, split_rngs={"params": True}, length=3)()
    params = jax.jit(stack.init)(KEY, TOKENS, None)

    def loss_of(params):
        out, _ = stack.apply(params, TOKENS, None)
        error = out - TOKENS * 2
        return (error**2).mean()

    @jax.jit
    def step(params):
        loss, grads = jax.value_and_grad(loss_of)(params)
        updated = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
        return updated, loss

    return lambda: step(params)


class Attention(equinox.Module):
    query: equinox.nn.Linear
    key: equinox.nn.Linear
    mlp: equinox.nn.MLP

    def __init__(self, key):
        a, b, c = jax.random.split(key, 3)
        self.query, self.key = equinox.nn.Linear(16, 16, key=a), equinox.nn.Linear(16, 16, key=b)
        self.mlp = equinox.nn.MLP(16, 16, 32, 1, key=c)

    def __call__(self, x):
        q, k = jax.vmap(self.query)(x), jax.vmap(self.key)(x)
        logits = q @ k.T / jnp.sqrt(16.0)
        weights = jax.nn.softmax(logits)
        mixed = weights @ x
        return x + jax.vmap(self.mlp)(mixed)


def equinox_transformer() -> Any:
    layers = equinox.filter_vmap(Attention)(jax.random.split(KEY, 2))
    arrays, static = equinox.partition(layers, equinox.is_array)

    def loss_of(arrays):
        def apply(x, layer):
            y = equinox.combine(layer, static)(x)
            return y, None

        out, _ = lax.scan(apply, TOKENS, arrays)
        return jnp.mean(out**2)

    @jax.jit
    def step(arrays):
        loss, grads = jax.value_and_grad(loss_of)(arrays)
        norm = optax.tree.norm(grads)
        return loss, norm

    return lambda: step(arrays)


def digits_cnn() -> Any:
    from sklearn.datasets import load_digits

    digits = load_digits()
    images, labels = jnp.asarray(digits.images[:64, ..., None] / 16, jnp.float32), jnp.asarray(digits.target[:64])
    kernel = jax.random.normal(KEY, (3, 3, 1, 4)) * 0.3
    head = jax.random.normal(KEY, (64, 10)) * 0.1

    def loss_of(params):
        kernel, head = params
        maps = lax.conv_general_dilated(images, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        active = jax.nn.relu(maps)
        pooled = lax.reduce_window(active, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        flat = pooled.reshape(len(images), -1)
        logits = flat @ head
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
        return losses.mean()

    optimiser = optax.adam(1e-2)

    @jax.jit
    def step(params, state):
        loss, grads = jax.value_and_grad(loss_of)(params)
        updates, state = optimiser.update(grads, state)
        params = optax.apply_updates(params, updates)
        return params, state, loss

    def train() -> Any:
        with jax.numpy_dtype_promotion("standard"):  # optax relies on it
            return step((kernel, head), optimiser.init((kernel, head)))

    return train


def n_body() -> Any:
    masses = jnp.array([1.0, 1e-3, 3e-4])
    start = jnp.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.6]])
    speed = jnp.array([[0.0, 0.0], [0.0, 1.0], [-0.8, 0.0]])

    def acceleration(position):
        apart = position[None] - position[:, None]
        distance = jnp.sqrt((apart**2).sum(-1) + 1e-4)
        pull = masses[None, :, None] * apart / distance[..., None] ** 3
        return pull.sum(1)

    @jax.jit
    def simulate(position, velocity):
        def leap(state, _):
            position, velocity = state
            half = velocity + 0.005 * acceleration(position)
            position = position + 0.01 * half
            velocity = half + 0.005 * acceleration(position)
            energy = 0.5 * (masses * (velocity**2).sum(-1)).sum()
            return (position, velocity), energy

        end, energies = lax.scan(leap, (position, velocity), length=8)
        return end, energies

    return lambda: simulate(start, speed)


def hmc() -> Any:
    def log_density(x):
        scaled = x / jnp.array([1.0, 3.0])
        return -0.5 * (scaled**2).sum()

    sampler = blackjax.hmc(log_density, 0.1, jnp.ones(2), 5)
    state = sampler.init(jnp.array([1.0, 2.0]))

    @jax.jit
    def sample(key, state):
        def one(state, key):
            state, info = sampler.step(key, state)
            energy = info.energy * 2
            return state, energy

        keys = jax.random.split(key, 4)
        last, energies = lax.scan(one, state, keys)
        return last, energies

    return lambda: sample(KEY, state)


def optax_loop() -> Any:
    from sklearn.datasets import load_diabetes

    data = load_diabetes()
    inputs, targets = jnp.asarray(data.data[:64], jnp.float32), jnp.asarray(data.target[:64] / 100, jnp.float32)
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.cosine_decay_schedule(1e-1, 5)))

    def loss_of(params):
        predicted = inputs @ params["w"] + params["b"]
        return jnp.mean((predicted - targets) ** 2)

    @jax.jit
    def fit(params):
        def step(carry, _):
            params, state = carry
            loss, grads = jax.value_and_grad(loss_of)(params)
            updates, state = optimiser.update(grads, state, params)
            params = optax.apply_updates(params, updates)
            size = optax.tree.norm(updates)
            return (params, state), (loss, size)

        (params, _), (losses, sizes) = lax.scan(step, (params, optimiser.init(params)), length=5)
        return params, losses, sizes

    def train() -> Any:
        with jax.numpy_dtype_promotion("standard"):  # optax relies on it
            return fit({"w": jnp.zeros(10), "b": jnp.zeros(())})

    return train


def vmapped_rnn() -> Any:
    w = jax.random.normal(KEY, (8, 8)) * 0.3
    u = jax.random.normal(KEY, (4, 8))
    sequences = jax.random.normal(jax.random.key(2), (5, 7, 4))

    def run(w, u, xs):
        def cell(h, x):
            pre = h @ w + x @ u
            h = jnp.tanh(pre)
            return h, h.mean()

        last, means = lax.scan(cell, jnp.zeros(8), xs)
        return last.sum() + means.sum()

    def loss_of(w):
        scores = jax.vmap(run, (None, None, 0))(w, u, sequences)
        return (scores**2).mean()

    return lambda: jax.jit(jax.value_and_grad(loss_of))(w)


PROGRAMS = {
    "flax": flax_transformer, "equinox": equinox_transformer, "cnn": digits_cnn, "n-body": n_body, "hmc": hmc,
    "rnn": vmapped_rnn, "optax": optax_loop,
}  # fmt: skip


@pytest.mark.behaviour("W1")
@pytest.mark.parametrize("name", PROGRAMS)
def test_assigned_arrays_can_be_watched_by_name_and_the_rest_say_why_not(name):
    program = PROGRAMS[name]()
    plain = jax.block_until_ready(program())
    with jdw.capture(watch="*") as run:
        result = jax.block_until_ready(program())
    assert not run.status().notes
    for one, other in zip(jax.tree.leaves(result), jax.tree.leaves(plain), strict=True):
        if jnp.issubdtype(one.dtype, jnp.floating):
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)
    _, places = named_places(__file__, run.watch_seen())
    mine = [one for one in places if one.span.line in _lines(name)]
    mine = [one for one in mine if re.fullmatch(r"[\w.\[\]'\"]+", one.name)]  # assigned, not only returned
    watched = [one.name for one in mine if not one.why]
    missing = {one.name: one.why for one in mine if one.why in (NOT_NEEDED, NOT_WATCHED, MINGLED)}
    told = {one.name for one in mine if one.why and one.why not in (NOT_NEEDED, NOT_WATCHED, MINGLED, NOT_COMPILED)}
    assert len(watched) >= 0.95 * (len(watched) + len(missing)), (missing, told)
    _equal_an_un_jitted_run(run, program, name)


def _equal_an_un_jitted_run(run: Any, program: Any, name: str) -> None:
    """Assert that values of each assigned name equal those of an unjitted run, up to the order of lanes."""
    expected = assigned_un_jitted(program, __file__, _lines(name))
    sites: dict[Any, list[Any]] = defaultdict(list)
    for value in run.values.values():
        watch = value.site.watch
        if watch.role == "value" and watch.primitive != "argument":
            sites[value.site.line, watch.name].append(value)
    compared = 0
    for (line, full), values in sites.items():
        found = re.fullmatch(r"(\w+)(.*)", full)
        trees = expected.get((line, found[1])) if found else None
        if not found or not trees:  # This is no plain name.
            continue
        for number, value in enumerate(values):
            own = trees[number :: len(values)]  # A line that one trace executes twice has two values.
            assert len(own) == len(value.steps), full
            for step, leaves in enumerate(own):
                # If the source does not show the paths of a tree, `g[1]` is its second leaf.
                array = leaves[found[2]] if found[2] in leaves else list(leaves.values())[int(found[2].strip("[]"))]
                assert sorted(array.shape) == sorted(value.site.watch.shape)
                norm = value["value" if array.size == 1 else "l2"][step]
                np.testing.assert_allclose(
                    norm, np.linalg.norm(array) if array.size > 1 else array, rtol=1e-3, atol=1e-5
                )
            compared += 1
    assert compared >= 0.9 * sum(map(len, sites.values())), (compared, list(sites))


def _lines(name: str) -> range:
    """Return the lines of a program, and of the class of its model."""
    things = [PROGRAMS[name], *{"flax": [Block], "equinox": [Attention]}.get(name, [])]
    found = [inspect.getsourcelines(thing) for thing in things]
    return range(min(line for _, line in found), max(line + len(lines) for lines, line in found))


def test_values_of_the_simulation_are_those_of_an_un_jitted_run(agrees):
    program = n_body()
    with jdw.capture(watch="half,energy,pull") as run:
        program()
    with jax.disable_jit():
        _, energies = program()
    np.testing.assert_allclose(run.series("energy")[1], energies, rtol=1e-4)
    assert len(run["half"].steps) == 8
    masses = jnp.array([1.0, 1e-3, 3e-4])
    start = jnp.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.6]])
    apart = start[None] - start[:, None]
    distance = jnp.sqrt((apart**2).sum(-1) + 1e-4)
    place = next(name for name in run.values if name.startswith("pull"))
    agrees(run[place], masses[None, :, None] * apart / distance[..., None] ** 3)


def test_a_librarys_variables_are_watched_by_its_file():
    def density(x):
        return -0.5 * (x**2).sum()

    sampler = blackjax.hmc(density, 0.1, jnp.ones(2), 3)
    state = sampler.init(jnp.ones(2))
    with jdw.capture(watch="*@integrators.py") as run:
        jax.jit(sampler.step)(KEY, state)
    assert any(site.file.endswith("integrators.py") for site in run.sites), run.status().notes
