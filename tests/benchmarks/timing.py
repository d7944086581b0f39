"""Time JAX programs beside each other, and print tables."""

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
"""`time.perf_counter`, or `time.process_time`: the processor time of all threads, which other work hardly affects."""


def seconds(program: Program, clock: Clock = time.perf_counter) -> float:
    """Return the seconds of one run, to the end of its outputs and effects."""
    start = clock()
    jax.block_until_ready(program())
    jax.effects_barrier()
    return clock() - start


def interleaved(
    programs: Mapping[str, Program], repeats: int, clock: Clock = time.perf_counter
) -> dict[str, list[float]]:
    """Run the programs in turn, so that other work on the machine affects all equally; return the times of each.

    Each program runs once before, to compile.
    """
    for program in programs.values():
        seconds(program)
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(repeats):
        for name, program in programs.items():
            times[name].append(seconds(program, clock))
    return times


def wall_and_processor(program: Program) -> tuple[float, float]:
    """Return the seconds of one run by the clock and by the processor."""
    start = time.process_time()
    wall = seconds(program)
    return wall, time.process_time() - start


def rotated(names: Sequence[str], turn: int) -> Sequence[str]:
    """Return the names, beginning with another one in each turn, so that each is first as often as last.

    A machine gets slower while it works, and a program is affected by the one that ran before it.
    """
    start = turn % len(names)
    return [*names[start:], *names[:start]]


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the median ratio of times that were measured in the same round."""
    return median([one / other for one, other in zip(ours, theirs, strict=True)])


def median(times: Sequence[float]) -> float:
    """Return the median: a machine with other work has outliers to one side only."""
    return statistics.median(times)


@contextlib.contextmanager
def stdout_to_null() -> Iterator[None]:
    """Discard stdout, to measure `jax.debug.print` without a terminal."""
    with open(os.devnull, "w", encoding="utf-8") as null, contextlib.redirect_stdout(null):
        yield


def keep_memory() -> None:
    """Make glibc keep freed memory: returning pages to the system and getting them again takes time.

    This happens in some runs of large steps and not in others, and takes more time than a capture adds to such a step.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    trim_threshold, top_pad, mmap_threshold = -1, -2, -3  # Numbers from malloc.h.
    for option, nbytes in ((trim_threshold, 2**31 - 1), (top_pad, 2**28), (mmap_threshold, 2**25)):
        if mallopt is not None:
            mallopt(option, nbytes)


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table with the first column aligned to the left and the others to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    sys.stdout.write(f"\n{title}\n")
    for row in [header, ["-" * width for width in widths], *rows]:
        name, *figures = row
        cells = [name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(figures, widths[1:], strict=True))]
        sys.stdout.write("  " + "  ".join(cells) + "\n")
    sys.stdout.flush()
