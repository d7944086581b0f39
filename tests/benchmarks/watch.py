"""Measure what watching costs in training loops.

The kinds are: plain, one name, all names and gradients, every equation, sampled, and checkify.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import checkify

import jax_debug_widgets as jdw
from tests.benchmarks.timing import Program, median, ratio, rotated, seconds, table

MakeContext = Callable[[], contextlib.AbstractContextManager[Any]]

WIDTH, BATCH, LAYERS = 512, 128, 4
TOKENS, HEADS, FEATURES = 64, 4, 256
STEPS, TRANSFORMER_STEPS = 100, 40
ROUNDS = 7
"""In each round every kind is compiled again: another memory layout alone changes a program's time by some percent."""
RUNS = 3
"""The runs after the one that compiles, all in one capture."""

PLAIN = "plain"
KINDS: dict[str, dict[str, Any]] = {
    "a capture, nothing watched": {},
    "one name": {"watch": "error"},
    "all names and gradients": {"watch": True},
    "all names, every 10th step": {"watch": True, "every": 10},
    "every equation": {"ops": True},
    "every equation, every 10th step": {"ops": True, "every": 10},
}


def forward(params, x):
    """Apply the layers one after the other."""
    for w in params:
        x = jax.nn.gelu(x @ w)
    return x


def normed(x):
    """Apply layer norm without parameters."""
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-6)


def block(x, layer):
    """Apply a transformer block: attention, then a perceptron, each beside a residual."""
    q, k, v = jnp.einsum("btf,sfhd->sbthd", normed(x), layer["qkv"])
    logits = jnp.einsum("bthd,buhd->bhtu", q, k) / np.sqrt(q.shape[-1])
    weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones(logits.shape[-2:], bool)), logits, -1e9))
    mixed = jnp.einsum("bhtu,buhd->bthd", weights, v)
    x = x + jnp.einsum("bthd,hdf->btf", mixed, layer["out"])
    hidden = jax.nn.gelu(normed(x) @ layer["up"])
    return x + hidden @ layer["down"]


def transformer(params, x):
    """Apply the blocks one after the other."""
    for layer in params:
        x = block(x, layer)
    return normed(x)


def trained(model: Callable[[Any, Any], Any], steps: int) -> Callable[[Any, Any, Any], Any]:
    """Return gradient descent on a model as one compiled loop."""

    def loss_of(params, x, y):
        error = model(params, x) - y
        return (error**2).mean()

    def train(params, x, y):
        def step(params, _):
            loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
            updated = jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients)
            return updated, loss

        return lax.scan(step, params, length=steps)

    return train


@dataclass(frozen=True)
class Round:
    """The seconds of one kind in one round: of a run, of compiling before it, and of beginning and ending a capture."""

    run: float
    compilation: float
    capture: float


def timed(program: Program, context: MakeContext) -> Round:
    """Compile a program and run it several times in one capture, as a cell does that trains for long."""
    jax.clear_caches()
    start = time.perf_counter()
    with context():
        entered = time.perf_counter()
        first, *runs = [seconds(program) for _ in range(1 + RUNS)]
        left = time.perf_counter()
    capture = time.perf_counter() - left + entered - start
    return Round(median(runs), first - median(runs), capture)


def main() -> None:
    """Print both tables."""
    keys = iter(jax.random.split(jax.random.key(0), 40))

    def weights(*shape: int, inputs: int) -> Any:
        return jax.random.normal(next(keys), shape) / np.sqrt(inputs)

    params = [weights(WIDTH, WIDTH, inputs=WIDTH) for _ in range(LAYERS)]
    x = weights(BATCH, WIDTH, inputs=1)
    _compare(f"{STEPS} training steps of {LAYERS} layers of {WIDTH}", trained(forward, STEPS), params, x)
    size = FEATURES // HEADS
    blocks = [
        {
            "qkv": weights(3, FEATURES, HEADS, size, inputs=FEATURES),
            "out": weights(HEADS, size, FEATURES, inputs=FEATURES),
            "up": weights(FEATURES, 4 * FEATURES, inputs=FEATURES),
            "down": weights(4 * FEATURES, FEATURES, inputs=4 * FEATURES),
        }
        for _ in range(2)
    ]
    x = weights(2, TOKENS, FEATURES, inputs=1)
    title = f"{TRANSFORMER_STEPS} training steps of a transformer of 2 blocks of {FEATURES}"
    _compare(title, trained(transformer, TRANSFORMER_STEPS), blocks, x)


def _compare(title: str, train: Callable[..., Any], params: Any, x: Any) -> None:
    plain, checked = jax.jit(train), jax.jit(checkify.checkify(train, errors=checkify.float_checks))
    arguments = jax.block_until_ready((params, x, jnp.sin(x)))
    run, run_checked = (partial(function, *arguments) for function in (plain, checked))
    kinds: dict[str, tuple[Program, MakeContext]] = {PLAIN: (run, contextlib.nullcontext)}
    kinds |= {name: (run, partial(jdw.capture, **options)) for name, options in KINDS.items()}
    kinds["checkify's float checks"] = (run_checked, contextlib.nullcontext)
    for program, context in kinds.values():
        timed(program, context)  # The first run in a process also loads and compiles Numba and eager operations.
    rounds: dict[str, list[Round]] = {name: [] for name in kinds}
    for turn in range(ROUNDS):
        for name in rotated(list(kinds), turn):
            rounds[name].append(timed(*kinds[name]))
    rows = [[name, *_beside(of_kind, rounds[PLAIN])] for name, of_kind in rounds.items()]
    table(title, ["", "ms", "× plain", "compile, s", "× plain", "begin and end, ms"], rows)


def _beside(ours: list[Round], plain: list[Round]) -> list[str]:
    runs, compilations = [one.run for one in ours], [one.compilation for one in ours]
    return [
        f"{median(runs) * 1e3:.4g}",
        f"{ratio(runs, [one.run for one in plain]):.2f}",
        f"{median(compilations):.4g}",
        f"{ratio(compilations, [one.compilation for one in plain]):.2f}",
        f"{median([one.capture for one in ours]) * 1e3:.3g}",
    ]
