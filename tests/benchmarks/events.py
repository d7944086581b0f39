"""Microseconds of processor time an event: captured, as JAX does it, and the least that a callback which keeps it can take."""

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
"""Steps of programs that are slower by far."""

REPEATS = 9


def loop(say, steps: int) -> Program:
    """A compiled loop that says a scalar at every step."""

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
    """A callback that does nothing."""
    return ()


def appending() -> Program:
    """The floor: a callback that keeps its value in a list and does nothing else; the list is new for each run."""
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
    """The same program in a capture, its events taken in by the store as they come."""

    def run():
        with jdw.capture() as run:
            result = program()
        assert len(run.store) == steps
        return result

    return run


def muted(program: Program) -> Program:
    """The same program in a capture that records nothing of it, its site being switched off."""
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
        # The best of each: XLA calls back from this thread or from one of its own, by chance, and that costs more.
        runs = interleaved({name: program for name, (program, _) in programs.items()}, REPEATS, time.process_time)
    times = {name: min(runs[name]) / steps * 1e6 for name, (_, steps) in programs.items()}
    rows = [[name, f"{us:.2f}", f"{us / times[FLOOR]:.2f}", f"1/{times[PLAIN] / us:.1f}"] for name, us in times.items()]
    table("One scalar a step (processor time)", ["", "µs an event", "× floor", "of a plain print"], rows)
