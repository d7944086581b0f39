"""What watching costs: training loops plain, with one name, all names and gradients, every equation; sampled, and checkify."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import checkify

import jax_debug_widgets as jdw
from tests.benchmarks.timing import Program, median, ratio, rotated, seconds, table

Times = dict[str, list[float]]

WIDTH, BATCH, LAYERS = 512, 128, 4
TOKENS, HEADS, FEATURES = 64, 4, 256
STEPS, TRANSFORMER_STEPS = 200, 80
"""So many that the start and the end of a capture do not count: they take milliseconds, where caches are cold some tens."""
REPEATS = 9
COMPILATIONS = 5

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
    """The layers one after the other."""
    for w in params:
        x = jax.nn.gelu(x @ w)
    return x


def normed(x):
    """Layer norm without parameters."""
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-6)


def block(x, layer):
    """A transformer block: attention, then a perceptron, each beside a residual."""
    q, k, v = jnp.einsum("btf,sfhd->sbthd", normed(x), layer["qkv"])
    logits = jnp.einsum("bthd,buhd->bhtu", q, k) / np.sqrt(q.shape[-1])
    weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones(logits.shape[-2:], bool)), logits, -1e9))
    mixed = jnp.einsum("bhtu,buhd->bthd", weights, v)
    x = x + jnp.einsum("bthd,hdf->btf", mixed, layer["out"])
    hidden = jax.nn.gelu(normed(x) @ layer["up"])
    return x + hidden @ layer["down"]


def transformer(params, x):
    """The blocks one after the other."""
    for layer in params:
        x = block(x, layer)
    return normed(x)


def trained(model: Callable[[Any, Any], Any], steps: int) -> Callable[[Any, Any, Any], Any]:
    """Gradient descent on a model in one compiled loop."""

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


def watched(program: Program, **options: Any) -> Program:
    """The same program in a capture that watches."""

    def run():
        with jdw.capture(**options):
            return program()

    return run


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
    programs: dict[str, Program] = {PLAIN: lambda: plain(*arguments)}
    programs |= {name: watched(programs[PLAIN], **options) for name, options in KINDS.items()}
    programs["checkify's float checks"] = lambda: checked(*arguments)
    for program in programs.values():
        seconds(program)  # What the first run in a process loads and compiles besides (Numba, eager operations).
    firsts = _rounds(programs, COMPILATIONS, before=jax.clear_caches)
    for program in programs.values():
        seconds(program)
    runs = _rounds(programs, REPEATS)
    compilations = {name: [first - median(runs[name]) for first in firsts[name]] for name in programs}
    rows = [[name, *_beside(name, runs, 1e3), *_beside(name, compilations, 1)] for name in programs]
    table(title, ["", "ms", "× plain", "compile, s", "× plain"], rows)


def _rounds(programs: dict[str, Program], count: int, before: Callable[[], None] = lambda: None) -> Times:
    """Seconds of each program, in turn, each from the start `count` times."""
    times: Times = {name: [] for name in programs}
    for turn in range(count):
        for name in rotated(list(programs), turn):
            before()
            times[name].append(seconds(programs[name]))
    return times


def _beside(name: str, times: Times, unit: float) -> list[str]:
    return [f"{median(times[name]) * unit:.4g}", f"{ratio(times[name], times[PLAIN]):.2f}"]
