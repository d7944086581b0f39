"""Measure the processor time of an event in microseconds.

The programs are: captured, plain JAX, and the least work of a callback that keeps the event.
"""

from __future__ import annotations

import time
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.studies.cost import tap
from jax_debug_widgets.session import current_session
from tests.benchmarks.timing import Program, interleaved, stdout_to_null, table

MANY = 100_000
FEW = 3_000
"""The number of steps for programs that are much slower."""

REPEATS = 9


def loop(say, steps: int) -> Program:
    """Return a compiled loop that passes a scalar to `say` in every step."""

    @jax.jit
    def program(x):
        def body(_, x):
            say(x)
            return x * 1.0001 + 1e-3

        return lax.fori_loop(0, steps, body, x)

    return partial(program, jnp.float32(1))


def print_x(x) -> None:
    jax.debug.print("x {x}", x=x)


def print_x_ordered(x) -> None:
    jax.debug.print("x {x}", x=x, ordered=True)


def call_nothing(x) -> None:
    jax.debug.callback(nothing, x)


def nothing(*_: object) -> tuple[()]:
    """Do nothing; a callback."""
    return ()


def appending() -> Program:
    """Return the lower bound: a callback that only appends its value to a list; the list is new for each run."""
    kept: list[object] = []
    append = kept.append

    def record(*arrays: object) -> tuple[()]:
        append(arrays)
        return ()

    program = loop(partial(tap, record), MANY)

    def run():
        kept.clear()
        return program()

    return run


def captured(program: Program, steps: int) -> Program:
    """Return the program in a capture; the store takes its events in as they come."""

    def run():
        with jdw.capture() as run:
            result = program()
        assert len(run.store) == steps
        return result

    return run


def muted(program: Program) -> Program:
    """Return the program in a capture that records nothing of it, because its site is switched off."""
    with jdw.capture() as first:
        program()
    (site,) = first.sites
    switches = current_session().switches

    def run():
        switches.mute(site.id, muted=True)
        with jdw.capture() as run:
            result = program()
        switches.mute(site.id, muted=False)
        assert len(run.store) == 0
        return result

    return run


NOTHING, FLOOR, PLAIN = (
    "a Python callback that does nothing",
    "one that appends (the floor)",
    "jax.debug.print to /dev/null",
)


def main() -> None:
    """Print the table."""
    programs = {
        NOTHING: (loop(partial(tap, nothing), MANY), MANY),
        FLOOR: (appending(), MANY),
        "jax.debug.print, captured": (captured(loop(print_x, MANY), MANY), MANY),
        "jax.debug.print, ordered, captured": (captured(loop(print_x_ordered, MANY), MANY), MANY),
        "jax.debug.print, captured and muted": (muted(loop(print_x, MANY)), MANY),
        "jax.debug.callback, captured": (captured(loop(call_nothing, FEW), FEW), FEW),
        PLAIN: (loop(print_x, FEW), FEW),
        "jax.debug.callback": (loop(call_nothing, FEW), FEW),
    }
    with stdout_to_null():
        # Takes the best of each: by chance XLA calls back from a thread of its own, which costs more.
        runs = interleaved({name: program for name, (program, _) in programs.items()}, REPEATS, time.process_time)
    times = {name: min(runs[name]) / steps * 1e6 for name, (_, steps) in programs.items()}
    rows = [[name, f"{us:.2f}", f"{us / times[FLOOR]:.2f}", f"1/{times[PLAIN] / us:.1f}"] for name, us in times.items()]
    table("One scalar a step (processor time)", ["", "µs an event", "× floor", "of a plain print"], rows)
