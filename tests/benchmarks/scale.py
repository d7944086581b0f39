"""Measure whether the cost of an event stays the same.

It is measured among a thousand and among a million events, and at the start and at the end of a long run.
"""

from __future__ import annotations

import time

import jax_debug_widgets as jdw
from tests.benchmarks.events import captured, loop, print_x
from tests.benchmarks.timing import interleaved, seconds, table

COUNTS = (1_000, 10_000, 100_000, 1_000_000)
HISTORY = 100_000
PARTS = 10
REPEATS = 5


def main() -> None:
    """Print both tables."""
    programs = {f"{count:,} events": captured(loop(print_x, count), count) for count in COUNTS}
    runs = interleaved(programs, REPEATS, time.process_time)
    rows = [
        [name, f"{min(runs[name]) * 1e3:.2f}", f"{min(runs[name]) / count * 1e6:.2f}"]
        for name, count in zip(programs, COUNTS, strict=True)
    ]
    table("A capture of n events, its start and end among it (processor time)", ["", "ms", "µs an event"], rows)
    program = loop(print_x, HISTORY)
    with jdw.capture():
        seconds(program)
    histories = []
    for _ in range(REPEATS):
        with jdw.capture() as run:
            histories.append([seconds(program, time.process_time) for _ in range(PARTS)])
        assert len(run.store) == PARTS * HISTORY
    best = [min(times) / HISTORY * 1e6 for times in zip(*histories, strict=True)]
    rows = [
        [f"after {part * HISTORY:,} events", f"{us:.2f}"]
        for part, us in enumerate(best)
        if part in (0, 1, 4, PARTS - 1)
    ]
    table(f"{HISTORY:,} more events in one capture (processor time)", ["", "µs an event"], rows)
