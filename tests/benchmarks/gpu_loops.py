"""Measure what an event in a loop costs on the default device, and how fast statistics are: part of `tests.benchmarks.gpu`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets.watch.statistics.statistics import stacked
from tests.benchmarks.timing import median, stdout_to_null

LOOPS = "loops"
ROUNDS = 5
CALLED: list[Any] = []

SAYING: dict[str, Callable[[Any, Any], None]] = {
    "a print": lambda i, x: jax.debug.print("{} {}", i, x),
    "an ordered print": lambda i, x: jax.debug.print("{} {}", i, x, ordered=True),
    "a callback": lambda _i, x: jax.debug.callback(CALLED.append, x),
}


def looping(say: Callable[[Any, Any], None], length: int) -> Callable[[Any], Any]:
    """Return a jitted loop over small kernels that says something in each iteration."""

    def body(i, x):
        say(i, x)
        return x * 1.0001 + 1e-3

    return jax.jit(lambda x: lax.fori_loop(0, length, body, x))


def timed(program: Callable[[], Any]) -> tuple[float, float]:
    """Return the seconds of the first run, and of a later one, each to the end of its effects."""

    def run() -> float:
        start = time.perf_counter()
        jax.block_until_ready(program())
        jax.effects_barrier()
        return time.perf_counter() - start

    first = run()
    run()
    return first, median([run() for _ in range(ROUNDS)])


def loops_and_reading() -> Iterator[dict[str, Any]]:
    """Return a row for each kind of event, captured and in plain JAX, and rows of statistics. `us` are µs for each event."""
    is_small = jax.devices()[0].platform == "cpu"
    x, lengths = jnp.float32(1), (200, 200) if is_small else (20_000, 2_000)
    bases = {}
    for length in sorted(set(lengths)):
        silent = looping(lambda _i, _x: None, length)
        bases[length] = timed(lambda silent=silent: silent(x))
        yield row("a loop", f"{length} iterations", bases[length], bases[length], length)
    for what, say in SAYING.items():
        for way, length in zip(("captured", "plain JAX"), lengths, strict=True):
            program = looping(say, length)
            with jdw.capture() if way == "captured" else contextlib.nullcontext(), stdout_to_null():
                taken = timed(lambda program=program: program(x))
            CALLED.clear()
            yield row("a loop", f"{what}, {way}", taken, bases[length], length)
    many = jnp.ones((1 << 16 if is_small else 1 << 26,), jnp.float32)
    largest, statistics = jax.jit(jnp.max), jax.jit(lambda many: stacked([many]))
    read = timed(lambda: [largest(many) for _ in range(20)])
    yield row("268 MB of float32", "its maximum", read, read, 20)
    taken = timed(lambda: [statistics(many) for _ in range(20)])
    yield row("268 MB of float32", "its statistics, beside its maximum", taken, read, 20)


def row(program: str, kind: str, taken: tuple[float, float], base: tuple[float, float], count: int) -> dict[str, Any]:
    """Return a row of the report from the seconds of a first and a later run of `count` steps, and those of the base."""
    (first, later), (first_base, later_base) = taken, base
    more = {"us": (later - later_base) / count * 1e6} if program == "a loop" and taken is not base else {}
    return {
        "program": program,
        "kind": kind,
        "ms": later / count * 1e3,
        "ratio": later / later_base,
        "first": first - first_base,
        "notes": [],
        **more,
    }
