"""Time JAX programs beside each other, and print what came out."""

from __future__ import annotations

import contextlib
import ctypes
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax

Program = Callable[[], Any]


Clock = Callable[[], float]
"""`time.perf_counter`, or `time.process_time`: the processor time of all threads, in which other work hardly shows."""


def seconds(program: Program, clock: Clock = time.perf_counter) -> float:
    """One run, to the end of its outputs and effects."""
    start = clock()
    jax.block_until_ready(program())
    jax.effects_barrier()
    return clock() - start


def interleaved(
    programs: Mapping[str, Program], repeats: int, clock: Clock = time.perf_counter
) -> dict[str, list[float]]:
    """Run the programs in turn, so that what else the machine does meets all alike; each once before, to compile."""
    for program in programs.values():
        seconds(program)
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(repeats):
        for name, program in programs.items():
            times[name].append(seconds(program, clock))
    return times


def wall_and_processor(program: Program) -> tuple[float, float]:
    """One run: seconds of the clock, and of the processor."""
    start = time.process_time()
    wall = seconds(program)
    return wall, time.process_time() - start


def rotated(names: Sequence[str], turn: int) -> Sequence[str]:
    """The same from another one on, a turn later: each is first as often as last.

    A machine gets slower while it works, and what went before leaves its mark.
    """
    start = turn % len(names)
    return [*names[start:], *names[:start]]


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median ratio of times that were measured in the same round."""
    return median([one / other for one, other in zip(ours, theirs, strict=True)])


def median(times: Sequence[float]) -> float:
    """The middle one: a machine with other work has outliers to one side."""
    return statistics.median(times)


@contextlib.contextmanager
def stdout_to_null() -> Iterator[None]:
    """What `jax.debug.print` costs without a terminal."""
    with open(os.devnull, "w", encoding="utf-8") as null, contextlib.redirect_stdout(null):
        yield


def keep_memory() -> None:
    """Have the C library keep what is freed, where it is glibc: pages that it gives back and gets again take time.

    In some runs of large steps they do and in others they do not, which is more than what a capture adds to such a step.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    trim_threshold, top_pad, mmap_threshold = -1, -2, -3  # As malloc.h numbers them.
    for option, nbytes in ((trim_threshold, 2**31 - 1), (top_pad, 2**28), (mmap_threshold, 2**25)):
        if mallopt is not None:
            mallopt(option, nbytes)


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, its first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    sys.stdout.write(f"\n{title}\n")
    for row in [header, ["-" * width for width in widths], *rows]:
        name, *figures = row
        cells = [name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(figures, widths[1:], strict=True))]
        sys.stdout.write("  " + "  ".join(cells) + "\n")
    sys.stdout.flush()
