"""Microseconds an event: captured, as JAX does it, and the floor below which no Python callback can be."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.equation import Lanes
from jax_debug_widgets._jax.tap import debug_tap_p
from tests.benchmarks.timing import Program, interleaved, stdout_to_null, table

EVENTS = 20_000
REPEATS = 9


def loop(say):
    """A compiled loop that says a scalar at every step."""

    @jax.jit
    def program(x):
        def body(_, x):
            say(x)
            return x * 1.0001 + 1e-3

        return lax.fori_loop(0, EVENTS, body, x)

    return partial(program, jnp.float32(1))


def nothing(*_: object) -> tuple[()]:
    """A callback that does nothing."""
    return ()


def floor(x):
    """A bare Python callback: what XLA's custom call costs without anybody's argument handling."""
    params = {"ordered": False, "partitioned": False}
    debug_tap_p.bind(x, inner=None, params=tuple(params.items()), lanes=Lanes((), ((),)), record=nothing)


def captured(program: Program) -> Program:
    """The same program in a capture, its events taken in by the store as they come."""

    def run():
        with jdw.capture() as run:
            result = program()
        assert len(run.store) == EVENTS
        return result

    return run


def main() -> None:
    """Print the table."""
    print_x = loop(lambda x: jax.debug.print("x {x}", x=x))
    callback_x = loop(lambda x: jax.debug.callback(nothing, x))
    programs = {
        "a bare Python callback (the floor)": loop(floor),
        "jax.debug.print, captured": captured(print_x),
        "jax.debug.print, ordered, captured": captured(loop(lambda x: jax.debug.print("x {x}", x=x, ordered=True))),
        "jax.debug.callback, captured": captured(callback_x),
        "jax.debug.print to /dev/null": print_x,
        "jax.debug.callback": callback_x,
    }
    with stdout_to_null():
        # The best of each: XLA calls back from this thread or from one of its own, by chance, and that costs twice as much.
        times = {name: min(runs) / EVENTS * 1e6 for name, runs in interleaved(programs, REPEATS).items()}
    lowest, plain = times["a bare Python callback (the floor)"], times["jax.debug.print to /dev/null"]
    rows = [[name, f"{us:.2f}", f"{us / lowest:.2f}", f"1/{plain / us:.1f}"] for name, us in times.items()]
    table(f"One scalar a step, {EVENTS} steps", ["", "µs an event", "× floor", "of a plain print"], rows)
