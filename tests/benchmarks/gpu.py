"""Measure what watching costs in training steps of a transformer, as GPUs run them: ratios to plain JAX.

Program A: six layers of 512 in a scan, float32. B: twelve layers of 1024, bfloat16. C: A with a Python loop over its
layers. F: the forward pass alone, 24 layers of 512, float32. G: 24 layers of 1024, bfloat16. They run on the default device.
On a CPU they are small. `python -m tests.benchmarks.gpu FILE A C` measures some of them; see `gpu_loops` for the others.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

import jax
import jax.numpy as jnp
from jax import lax

import jax_debug_widgets as jdw
from tests.benchmarks.gpu_loops import LOOPS, loops_and_reading
from tests.benchmarks.timing import median, table
from tests.devices import PLATFORMS

HEAD = 64
ROUNDS = 5
KINDS: dict[str, dict[str, Any]] = {
    "a capture, nothing watched": {},
    "one scalar name": {"watch": "loss"},
    "one large name": {"watch": "h"},
    "all names and gradients": {"watch": True},
    "all names, every 10th step": {"watch": True, "every": 10},
    "every equation": {"ops": True},
    "every equation, every 10th step": {"ops": True, "every": 10},
}


@dataclass(frozen=True)
class Size:
    """A transformer and its batch; `steps` steps are measured together."""

    width: int
    layers: int
    batch: int
    tokens: int
    dtype: Any = jnp.float32
    scanned: bool = True
    backward: bool = True
    steps: int = 20

    def __str__(self) -> str:
        way = "scanned" if self.scanned else "unrolled"
        return (
            f"{self.layers} layers of {self.width}, {self.batch} × {self.tokens} tokens, {self.dtype.__name__}, {way}"
        )


TEN = "x,y,q,k,v,scores,attn,mixed,h"
FORWARD: dict[str, dict[str, Any]] = {
    "ten names an iteration": {"watch": TEN},
    "ten names, every 10th iteration": {"watch": TEN, "every": 10},
}

LARGE = {
    "A": Size(512, 6, 8, 256),
    "C": Size(512, 6, 8, 256, scanned=False),
    "B": Size(1024, 12, 16, 512, jnp.bfloat16, steps=10),
    "F": Size(512, 24, 8, 256, backward=False),
    "G": Size(1024, 24, 16, 512, jnp.bfloat16, backward=False, steps=10),
}
SMALL = {
    "A": Size(64, 2, 1, 8, steps=2),
    "C": Size(64, 2, 1, 8, scanned=False, steps=2),
    "F": Size(64, 2, 1, 8, backward=False, steps=2),
}


def normed(x):
    """Apply root mean square norm without parameters."""
    return x * lax.rsqrt((x.astype(jnp.float32) ** 2).mean(-1, keepdims=True) + 1e-6).astype(x.dtype)


def trained(size: Size) -> tuple[Callable[..., Any], Any, Any]:
    """Return a jitted step of gradient descent, or the forward pass, with its weights and its batch."""
    width, layers, heads = size.width, size.layers, size.width // HEAD
    keys = jax.random.split(jax.random.key(0), 5)

    def normal(key: Any, *shape: int, inputs: float = 1.0) -> Any:
        return (jax.random.normal(key, shape, jnp.float32) * inputs**-0.5).astype(size.dtype)

    weights = {
        "qkv": normal(keys[0], layers, width, 3 * width, inputs=width),
        "o": normal(keys[1], layers, width, width, inputs=width),
        "up": normal(keys[2], layers, width, 4 * width, inputs=width),
        "down": normal(keys[3], layers, 4 * width, width, inputs=4 * width),
    }
    batch = normal(keys[4], size.batch, size.tokens, width)

    def layer(x, w):
        y = normed(x)
        q, k, v = (one.reshape(*x.shape[:2], heads, HEAD) for one in jnp.split(y @ w["qkv"], 3, -1))
        scores = jnp.einsum("bthd,bshd->bhts", q, k) / 8
        attn = jax.nn.softmax(scores.astype(jnp.float32), -1).astype(x.dtype)
        mixed = jnp.einsum("bhts,bshd->bthd", attn, v).reshape(x.shape)
        x = x + mixed @ w["o"]
        h = jax.nn.gelu(normed(x) @ w["up"])
        x = x + h @ w["down"]
        return x, None

    def loss_of(p, x):
        if size.scanned:
            x, _ = lax.scan(layer, x, p)
        else:
            for number in range(layers):
                x, _ = layer(x, {name: one[number] for name, one in p.items()})
        loss = (x.astype(jnp.float32) ** 2).mean()
        return loss  # noqa: RET504 - this name is watched

    def step(p, x):
        loss, grads = jax.value_and_grad(loss_of)(p, x)
        p = jax.tree.map(lambda a, b: (a - 1e-3 * b).astype(a.dtype), p, grads)
        return p, loss

    return jax.jit(step if size.backward else lambda p, x: (p, loss_of(p, x))), weights, batch


def measured(size: Size) -> Iterator[dict[str, Any]]:
    """Return a row for each kind of watching.

    A row has milliseconds for a step, the ratio to plain JAX, and the seconds by which the first call is longer.
    """
    step, weights, batch = trained(size)

    def a_step() -> float:
        now, losses, start = weights, [], time.perf_counter()
        for _ in range(size.steps):
            now, loss = step(now, batch)
            losses.append(loss)
        jax.block_until_ready((now, losses))
        return (time.perf_counter() - start) / size.steps

    def first_and_later() -> tuple[float, float]:
        start = time.perf_counter()
        jax.block_until_ready(step(weights, batch))
        first = time.perf_counter() - start
        a_step()  # XLA records its CUDA graphs, and the clock rate rises.
        return first, median([a_step() for _ in range(ROUNDS)])

    first_plain, plain = first_and_later()
    yield {"kind": "plain", "ms": plain * 1e3, "ratio": 1.0, "first": first_plain, "notes": []}
    for kind, options in (KINDS if size.backward else FORWARD).items():
        with jdw.capture(**options) as run:
            first, later = first_and_later()
        plain = (plain + median([a_step() for _ in range(3)])) / 2  # The clock rate of a GPU changes while it works.
        notes = [str(note) for note in run.notes]
        yield {"kind": kind, "ms": later * 1e3, "ratio": later / plain, "first": first - first_plain, "notes": notes}


def main(told: TextIO | None = None, names: Sequence[str] = ()) -> None:
    """Print a table for each program, and write each row to a file as a line of JSON as soon as it is measured."""
    sizes = SMALL if jax.devices()[0].platform == "cpu" else LARGE
    for name in names or sizes:
        if name == LOOPS:
            tell("in loops and of 268 MB", loops_and_reading(), told)
        elif name in sizes:
            tell(f"{name}: {sizes[name]}", ({"program": name, **row} for row in measured(sizes[name])), told)


def tell(title: str, rows: Iterable[dict[str, Any]], told: TextIO | None) -> None:
    """Print a table of rows, and write each row to the file."""
    texts = []
    for row in rows:
        texts.append([f"{row['kind']}", f"{row['ms']:.3g}", f"{row['ratio']:.3f}", f"{row['first']:.1f}"])
        if told is not None:
            told.write(json.dumps(row) + "\n")
            told.flush()
    table(title, ["", "ms a step", "× plain", "first call, s more"], texts)


if __name__ == "__main__":
    jax.config.update("jax_platforms", PLATFORMS)
    with open(sys.argv[1], "a", encoding="utf-8") as lines:
        main(lines, sys.argv[2:])
