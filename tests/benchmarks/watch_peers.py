"""Measure how others show intermediate values of a training step, beside watching all names.

The others are penzai, jax-tap and running without `jit`. Each figure is a ratio to the same steps, made in the same
way, that show nothing. penzai returns the whole outputs of its layers from each step. jax-tap shows what a loop
carries, here the parameters. Without `jit` everything can be seen.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jax_debug_widgets as jdw
from tests.benchmarks.peers import INSTALL
from tests.benchmarks.timing import Program, interleaved, table
from tests.benchmarks.watch import BATCH, LAYERS, WIDTH, forward, trained

STEPS, UNJITTED_STEPS = 50, 5
REPEATS = 5


def jitted_steps(step: Callable[..., Any], params: Any, *data: Any) -> Program:
    """Return a program that runs each step as a call, as penzai's steps are."""

    def run():
        now, shown = params, None
        for _ in range(STEPS):
            now, shown = step(now, *data)
        return now, shown

    return run


def plain_step() -> Callable[..., Any]:
    """Return a step of gradient descent that shows its loss."""

    @jax.jit
    def step(params, x, y):
        def loss_of(params):
            error = forward(params, x) - y
            return (error**2).mean()

        loss, gradients = jax.value_and_grad(loss_of)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), loss

    return step


def penzai_steps(*, saving: bool) -> Program:
    """Return the same network of penzai's layers, with or without a layer that saves the values between two layers."""
    pz: Any = importlib.import_module("penzai.pz")
    key = jax.random.key(0)
    linear = partial(pz.nn.Linear.from_config, init_base_rng=key, input_axes={"f": WIDTH}, output_axes={"f": WIDTH})
    model = pz.nn.Sequential(
        [layer for i in range(LAYERS) for layer in (linear(f"layer {i}"), pz.nn.Elementwise(jax.nn.gelu))]
    )
    if saving:
        model = importlib.import_module("penzai.toolshed.save_intermediates").saving_all_intermediates(model)
    model, params = pz.unbind_params(model, freeze=True)
    model, states = pz.unbind_state_vars(model, freeze=True)

    @jax.jit
    def step(params, x, y):
        def loss_of(params):
            saved = [one.unfreeze_as_copy() for one in states]
            error = pz.bind_variables(model, [*params, *saved])(x) - y
            return (error**2).untag("b", "f").mean().unwrap(), [one.freeze() for one in saved]

        shown, gradients = jax.value_and_grad(loss_of, has_aux=True)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), shown

    x = pz.nx.wrap(jnp.ones((BATCH, WIDTH))).tag("b", "f")
    return jitted_steps(step, params, x, x)


Pair = tuple[Program, Program]
"""Steps that show values, and the same steps without showing them."""


def data() -> tuple[Any, jax.Array]:
    """Return parameters and a batch."""
    keys = jax.random.split(jax.random.key(0), LAYERS)
    return [jax.random.normal(key, (WIDTH, WIDTH)) / np.sqrt(WIDTH) for key in keys], jnp.ones((BATCH, WIDTH))


def looped(train: Callable[..., Any]) -> Program:
    """Return a program that runs all steps in one compiled loop."""
    params, x = data()
    return partial(jax.jit(train), params, x, x)


def watched(program: Program) -> Program:
    """Return the same program in a capture that watches all names."""

    def run():
        with jdw.capture(watch=True):
            return program()

    return run


def watched_steps() -> Pair:
    params, x = data()
    steps = jitted_steps(plain_step(), params, x, x)
    return watched(steps), steps


def watched_loop() -> Pair:
    loop = looped(trained(forward, STEPS))
    return watched(loop), loop


def penzai() -> Pair:
    return penzai_steps(saving=True), penzai_steps(saving=False)


def jax_tap() -> Pair:
    verbose = importlib.import_module("jaxtap").verbose
    train = trained(forward, STEPS)
    return looped(verbose(train, on_step=lambda _event: None)), looped(train)


def without_jit() -> Pair:
    params, x = data()
    train = trained(forward, UNJITTED_STEPS)

    def unjitted() -> Any:
        with jax.disable_jit():
            return train(params, x, x)

    return unjitted, looped(train)


PAIRS: dict[str, tuple[str, Callable[[], Pair]]] = {
    "all names and gradients watched, one loop": ("jax_debug_widgets", watched_loop),
    "all names and gradients watched, each step a call": ("jax_debug_widgets", watched_steps),
    "penzai, saved intermediates": ("penzai", penzai),
    "jax-tap, what the loop carries": ("jaxtap", jax_tap),
    "no jit, operation by operation": ("jax", without_jit),
}
"""Name of the tool -> its module, and the function that makes its steps."""


def main() -> None:
    """Print the table; a package that is not installed has a row that says so."""
    rows = []
    for name, (module, make) in PAIRS.items():
        if not importlib.util.find_spec(module):
            rows.append([name, "not installed", INSTALL])
            continue
        showing, plain = make()
        runs = interleaved({"showing": showing, "plain": plain}, REPEATS)
        ours, theirs = (min(runs[one]) for one in ("showing", "plain"))
        rows.append([name, f"{ours * 1e3:.4g} ms", f"{ours / theirs:.2f} ×"])
    table(f"Steps of {LAYERS} layers of {WIDTH} that show their values", ["", "time", "to plain"], rows)
