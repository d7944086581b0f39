"""Measure `vmap` of a print: JAX compiles one callback for each lane, a capture one for all lanes."""

from __future__ import annotations

import jax
import jax.numpy as jnp

import jax_debug_widgets as jdw
from tests.benchmarks.timing import median, seconds, stdout_to_null, table

LATER, LATER_CAPTURED = 5, 50
"""How many later calls are measured: captured calls are so short that another Python thread can delay the first few."""


def measure(lanes: int, *, capture: bool) -> tuple[float, float]:
    """Return the seconds of the first call, and the median of later calls."""

    @jax.jit
    @jax.vmap
    def program(x):
        jax.debug.print("x {x}", x=x)
        return x * 2

    xs = jnp.arange(float(lanes))
    if not capture:
        first, *later = [seconds(lambda: program(xs)) for _ in range(1 + LATER)]
    else:
        with jdw.capture():
            first, *later = [seconds(lambda: program(xs)) for _ in range(1 + LATER_CAPTURED)]
    return first, median(later)


def main() -> None:
    """Print the table."""
    rows = []
    for lanes in (64, 1024):
        with stdout_to_null():
            plain, ours = measure(lanes, capture=False), measure(lanes, capture=True)
        for call, theirs, mine in zip(("first", "later"), plain, ours, strict=True):
            rows.append(
                [f"{lanes} lanes, {call} call", f"{theirs * 1e3:.2f}", f"{mine * 1e3:.2f}", f"{theirs / mine:.0f} ×"]
            )
    table("A vmapped print", ["", "plain, ms", "captured, ms", "faster"], rows)
