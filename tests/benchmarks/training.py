"""Measure a captured training step that prints ten scalars, beside the same step that only computes them.

JAX dispatches a program with effects from Python, every other program from C++. XLA runs a program that calls Python on
the calling thread. For the arguments of this step, that takes half a millisecond for each call, whatever the effects
are. The steps that call empty functions without a capture show this. A capture makes the printed values results of the
step: C++ dispatches the step while the one before it runs. A compiled loop has one call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from sklearn.datasets import load_digits

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.studies.cost import tap
from tests.benchmarks.events import nothing
from tests.benchmarks.timing import Program, keep_memory, rotated, seconds, stdout_to_null, table, wall_and_processor

SIZES = {384: 60, 1024: 16}
"""Width of the hidden layers -> number of steps in one measurement."""

ROUNDS = 15

WITHOUT, AGAIN = "without", "the same, compiled once more"
EMPTY, TEN = "XLA calls one empty function, no capture", "XLA calls ten, no capture"
CAPTURED, PLAIN = "ten scalars, captured", "ten scalars, plain"


def steps(say: Callable[[Sequence[Any]], None], hidden: int, count: int, *, in_loop: bool) -> Program:
    """Return steps of Adam on scikit-learn's digits: one call for each step, or all steps in one compiled loop."""
    images, labels = load_digits(return_X_y=True)
    images, labels = jnp.asarray(images, jnp.float32) / 16, jnp.asarray(labels)
    sizes = (images.shape[1], hidden, hidden, 10)
    keys = jax.random.split(jax.random.key(0), len(sizes) - 1)
    weights = [jax.random.normal(k, (m, n)) / m**0.5 for k, m, n in zip(keys, sizes, sizes[1:], strict=False)]
    optimiser = optax.adam(1e-3)

    def loss_of(weights):
        layer = images
        for w in weights[:-1]:
            layer = jnp.tanh(layer @ w)
        return optax.softmax_cross_entropy_with_integer_labels(layer @ weights[-1], labels).mean()

    def step(weights, state):
        loss, gradient = jax.value_and_grad(loss_of)(weights)
        updates, state = optimiser.update(gradient, state)
        ten = [loss, *(jnp.linalg.norm(one) for one in (*gradient, *weights, *updates))]
        say(ten)
        return optax.apply_updates(weights, updates), state, ten

    def calls():
        now, state, ten = weights, optimiser.init(weights), None
        for _ in range(count):
            now, state, ten = compiled(now, state)
        return ten

    def loop(weights, state):
        def body(carry, _):
            *carry, ten = step(*carry)
            return tuple(carry), ten

        return lax.scan(body, (weights, state), length=count)

    compiled = jax.jit(loop if in_loop else step)
    return (lambda: compiled(weights, optimiser.init(weights))) if in_loop else calls


def print_ten(ten: Sequence[Any]) -> None:
    for index, value in enumerate(ten):
        jax.debug.print("{index} {value}", index=index, value=value)


def call_ten(ten: Sequence[Any]) -> None:
    for value in ten:
        tap(nothing, value)


def main() -> None:
    """Print one table for each size."""
    keep_memory()
    for hidden, count in SIZES.items():
        for in_loop in (False, True):
            compare(hidden, count, in_loop=in_loop)


def compare(hidden: int, count: int, *, in_loop: bool) -> None:
    """Print the table of one size."""
    printing = steps(print_ten, hidden, count, in_loop=in_loop)
    others = {
        WITHOUT: steps(lambda _: None, hidden, count, in_loop=in_loop),
        AGAIN: steps(
            lambda _: None, hidden, count, in_loop=in_loop
        ),  # Shows how far equal programs are apart on this machine.
        EMPTY: steps(lambda _: tap(nothing), hidden, count, in_loop=in_loop),
        TEN: steps(call_ten, hidden, count, in_loop=in_loop),
        PLAIN: printing,
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in (WITHOUT, AGAIN, EMPTY, TEN, CAPTURED, PLAIN)}
    ratios: dict[str, list[float]] = {name: [] for name in times}

    def measure(name: str) -> float:
        if name == CAPTURED:
            with jdw.capture() as run:
                times[name].append(wall_and_processor(lambda: read(run)))
        else:
            times[name].append(wall_and_processor(others[name]))
        return times[name][-1][1]

    def read(run: jdw.Run) -> Any:
        results = printing()
        jax.effects_barrier()
        assert len(run.events) == 10 * count
        return results

    with stdout_to_null():
        for program in others.values():
            seconds(program)
        with jdw.capture():
            seconds(printing)
        before = measure(WITHOUT)
        for turn in range(ROUNDS):
            for name in rotated([AGAIN, EMPTY, TEN, CAPTURED, PLAIN], turn):
                # Compared with the measurements right before and after: a shared machine differs from second to second.
                own, after = measure(name), measure(WITHOUT)
                ratios[name].append(2 * own / (before + after))
                before = after
    ratios[WITHOUT] = [1.0]
    rows = []
    for name, both in times.items():
        wall, processor = (min(column) / count * 1e3 for column in zip(*both, strict=True))
        low, middle, high = np.percentile(ratios[name], [25, 50, 75])
        rows.append([name, f"{wall:.2f}", f"{processor:.2f}", f"{middle:.3f} ({low:.3f} to {high:.3f})"])
    header = ["", "ms a step", "processor, ms", "median of that to without, quartiles"]
    table(f"A training step, {hidden} wide, {'in one compiled loop' if in_loop else 'each a call'}", header, rows)
