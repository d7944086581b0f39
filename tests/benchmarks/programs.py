"""Measure the tools for programs on a training step with some 6,000 equations, beside JAX's own work.

The tools are the table, differences, links and export. The program is a transformer of twelve blocks (flax) with Adam
(optax), unrolled, as people write it. Seconds are those that a user waits on an idle machine. Each tool needs work of JAX's:
tracing, for links lowering and compiling too. Beside its seconds are those beyond that work, and the ratio to that work.
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
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    def anew(work: Callable[[], Any]) -> float:
        jax.clear_caches()
        return once(work)

    loss_args = (params, words)
    tracing, tracing_loss = anew(lambda: jax.make_jaxpr(step)(*args)), anew(lambda: jax.make_jaxpr(loss)(*loss_args))
    lowering = anew(lambda: jax.jit(step).lower(*args)) - tracing
    compiling = once(jax.jit(step).lower(*args).compile)
    prepared = tracing + lowering + compiling
    equations = len(jdw.table(step, *args, xla=False).program.equations)
    rows: list[list[str]] = [
        [name, f"{took:.2f} s", "", ""]
        for name, took in (("JAX: trace", tracing), ("JAX: lower", lowering), ("JAX: compile", compiling))
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, own, run in (
            ("table", tracing, lambda: str(jdw.table(step, *args, xla=False))),
            (
                "diff of the loss and the step",
                tracing + tracing_loss,
                lambda: str(jdw.diff(loss, step, *loss_args, other_args=args)),
            ),
            ("export", tracing, lambda: jdw.to_folder(step, *args, path=Path(folder) / "step")),
            ("links", prepared, lambda: jdw.linked(step, *args)),
        ):
            took = anew(run)
            rows.append([name, f"{took:.2f} s", f"{took - own:.2f} s", f"{took / own:.2f}"])
    title = f"Programs: a training step of {equations:,} equations"
    table(title, ["", "seconds", "of ours", "× JAX's own"], rows)
