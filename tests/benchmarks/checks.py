"""Measure the cost of checks: plain, checked, and with `checkify`, in turns in one process, as ratios."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import checkify

import jax_debug_widgets as jdw
from tests.benchmarks.timing import median, ratio, rotated, seconds, table

ROUNDS, CALLS = 15, 10
CHECKS = {
    "always on": None,
    "oob": "oob",
    "nonfinite": "nonfinite",
    "traces": "purity,stale,leaks,lists",
    "keys": "keys",
    "all": "all",
}


def embedding(w, ids, first, second):
    """Run a training step of a small model."""

    def loss(parameters):
        w, first, second = parameters
        hidden = jax.nn.relu(w[ids] @ first) @ second
        chosen = jax.nn.one_hot(ids % hidden.shape[-1], hidden.shape[-1])
        return (jax.nn.logsumexp(hidden, -1) - (hidden * chosen).sum(-1)).mean()

    gradients = jax.grad(loss)((w, first, second))
    return jax.tree.map(lambda one, slope: one - 0.1 * slope, (w, first, second), gradients)


def recurrent(x, ids, w):
    """Run a loop of 200 steps with one product in each."""

    def body(h, i):
        return jnp.tanh(h @ w + x[i]), h[:, 0]

    return lax.scan(body, jnp.zeros((32, 128)), ids)


def indexing(x, ids):
    """Run a loop that does little else than index."""
    return lax.scan(lambda total, i: (total * 0.5 + x[i], total), 0.0, ids)


def _programs() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    random = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return jnp.asarray(random.normal(size=shape), jnp.float32)

    def ids(*shape: int, size: int) -> Any:
        return jnp.asarray(random.integers(0, size, shape), jnp.int32)

    step = normal(5000, 256), ids(8, 128, size=5000), normal(256, 512), normal(512, 256)
    return {
        "embedding and gradient": (embedding, step),
        "RNN of 200 steps": (recurrent, (normal(1000, 128), ids(200, 32, size=1000), normal(128, 128) * 0.1)),
        "loop of 10,000 reads": (indexing, (normal(1000), ids(10_000, size=1000))),
    }


def measure(function: Callable[..., Any], arguments: tuple[Any, ...]) -> dict[str, tuple[float, float]]:
    """Return for each way the time of later calls and of the first call, as ratios to plain JAX."""
    checkified = checkify.checkify(function, errors=checkify.index_checks)
    ways = {"plain": function, **dict.fromkeys(CHECKS, function), "checkify": checkified}
    programs = {name: jax.jit(lambda *given, made=made: made(*given)) for name, made in ways.items()}
    firsts: dict[str, float] = {}
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(ROUNDS):
        for name in rotated(list(ways), turn):
            with ExitStack() as stack:
                if name in CHECKS:
                    stack.enter_context(jdw.capture(check=CHECKS[name], barrier=False))
                if name not in firsts:
                    firsts[name] = seconds(lambda name=name: programs[name](*arguments))
                later = [seconds(lambda name=name: programs[name](*arguments)) for _ in range(CALLS)]
                times[name].append(median(later))
    plain = times["plain"]
    return {name: (ratio(times[name], plain), firsts[name] / firsts["plain"]) for name in ways}


def main() -> None:
    """Print the table."""
    rows = []
    for title, (function, arguments) in _programs().items():
        found = measure(function, arguments)
        for which, kind in enumerate(("later calls", "first call")):
            rows.append([f"{title}, {kind}", *(f"{found[name][which]:.2f} ×" for name in (*CHECKS, "checkify"))])
    table("Checks, as ratios to plain JAX", ["", *CHECKS, "checkify"], rows)
