"""Measure the tools for programs on a training step with some 6,000 equations, beside JAX's own work.

The tools are the table, differences, links and export. The program is a transformer of twelve blocks (flax) with Adam
(optax), unrolled, as people write it. Seconds are processor time and vary with the machine. Beside them are ratios to
tracing or compiling the program in the same run.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import jax_debug_widgets as jdw
from tests.benchmarks.timing import table

BLOCKS, WORDS, WIDTH = 12, 50, 16


def training_step() -> tuple[Callable[..., Any], Callable[..., Any], tuple[Any, Any, Any]]:
    """Return the step, its loss, and the arguments of the step."""
    import flax.linen as nn
    import optax

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x: jax.Array) -> jax.Array:
            h = nn.LayerNorm()(x)
            x = x + nn.MultiHeadDotProductAttention(num_heads=2)(h, h)
            h = nn.gelu(nn.Dense(4 * WIDTH)(nn.LayerNorm()(x)))
            return x + nn.Dense(WIDTH)(h)

    class Model(nn.Module):
        @nn.compact
        def __call__(self, words: jax.Array) -> jax.Array:
            x = nn.Embed(WORDS, WIDTH)(words)
            for number in range(BLOCKS):
                x = Block(name=f"block_{number}")(x)
            return nn.Dense(WORDS)(nn.LayerNorm()(x))

    model: Any = Model()
    optimiser = optax.adam(1e-3)
    words = jax.random.randint(jax.random.key(1), (2, 8), 0, WORDS)

    def loss(params: Any, words: jax.Array) -> jax.Array:
        return -jnp.mean(jax.nn.log_softmax(model.apply(params, words))[..., 0])

    def step(params: Any, state: Any, words: jax.Array) -> Any:
        value, grads = jax.value_and_grad(loss)(params, words)
        updates, state = optimiser.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value

    params: Any = jax.jit(model.init)(jax.random.key(0), words)
    return step, loss, (params, jax.jit(optimiser.init)(params), words)


def main() -> None:
    """Print the table."""
    step, loss, args = training_step()
    params, _, words = args

    def once(run: Callable[[], Any]) -> float:
        start = time.process_time()
        run()
        return time.process_time() - start

    def traced_anew() -> Any:
        jax.clear_caches()
        return jax.make_jaxpr(step)(*args)

    tracing = once(traced_anew)
    lowered = jax.jit(step).lower(*args)
    compiling = once(lowered.compile)
    equations = len(jdw.table(step, *args, xla=False).program.equations)
    rows: list[list[str]] = [
        ["trace (jax.make_jaxpr)", f"{tracing:.2f} s", "1.0", ""],
        ["compile (XLA)", f"{compiling:.2f} s", "", "1.0"],
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, run in (
            ("table", lambda: str(jdw.table(step, *args, xla=False))),
            ("diff of the loss and the step", lambda: str(jdw.diff(loss, step, params, words, other_args=args))),
            ("export", lambda: jdw.to_folder(step, *args, path=Path(folder) / "step")),
            ("links", lambda: jdw.linked(step, *args)),
        ):
            took = once(run)
            rows.append([name, f"{took:.2f} s", f"{took / tracing:.1f}", f"{took / compiling:.2f}"])
    title = f"Programs: a training step of {equations:,} equations"
    table(title, ["", "seconds", "× tracing", "× compiling"], rows)
