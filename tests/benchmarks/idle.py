"""Measure that the extension costs nothing when it is loaded and not used."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from IPython.core.interactiveshell import InteractiveShell
from jax import lax

import jax_debug_widgets as jdw
from tests.benchmarks.timing import Program, median, seconds, stdout_to_null, table

ROUNDS = 60


def programs() -> dict[str, Program]:
    """Return a training step without effects, one with a print, and many small eager operations."""
    weights = jax.random.normal(jax.random.key(0), (256, 256)) / 16

    @jax.jit
    def steps(w):
        return lax.fori_loop(0, 20, lambda _, w: w - 1e-3 * jax.grad(lambda w: jnp.tanh(w @ w).sum())(w), w)

    @jax.jit
    def printing(w):
        def body(i, w):
            jax.debug.print("step {i}", i=i)
            return w * 0.999

        return lax.fori_loop(0, 200, body, w)

    def eager():
        x = weights
        for _ in range(50):
            x = jnp.tanh(x)
        return x

    return {
        "20 training steps": lambda: steps(weights),
        "200 prints": lambda: printing(weights),
        "50 eager operations": eager,
    }


def main() -> None:
    """Print the table."""
    shell = InteractiveShell.instance()
    rows = []
    for name, program in programs().items():
        with stdout_to_null():
            # The extension has been used before, so that anything a capture leaves behind would show.
            with jdw.capture():
                seconds(program)
            seconds(program)
            pairs = [measured_pair(shell, program, loaded_first=bool(turn % 2)) for turn in range(ROUNDS)]
        without, loaded = (median(times) for times in zip(*pairs, strict=True))
        ratio = median([ours / theirs for theirs, ours in pairs])
        rows.append([name, f"{without * 1e3:.2f}", f"{loaded * 1e3:.2f}", f"{ratio:.3f}"])
    table("Loaded, not used", ["", "without, ms", "loaded, ms", "median ratio of pairs"], rows)


def measured_pair(shell: InteractiveShell, program: Program, *, loaded_first: bool) -> tuple[float, float]:
    """Return the seconds without and with the extension.

    Both are measured one right after the other, so that other work on the machine affects both.
    """
    times = {}
    for loaded in (loaded_first, not loaded_first):
        if loaded:
            shell.run_line_magic("load_ext", "jax_debug_widgets")
        times[loaded] = seconds(program)
        if loaded:
            shell.run_line_magic("unload_ext", "jax_debug_widgets")
    return times[False], times[True]
