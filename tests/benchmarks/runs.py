"""Measure the cost of runs as files: recording, loading, reading one series of several, and the delay of a follower.

Each figure is beside a lower bound measured in the same minute: the same capture without a file, or pyarrow on the same
rows.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from pyarrow import parquet

import jax_debug_widgets as jdw
from jax_debug_widgets.session import current_session
from tests.benchmarks.timing import (
    Program,
    keep_memory,
    median,
    rotated,
    seconds,
    stdout_to_null,
    table,
    wall_and_processor,
)
from tests.benchmarks.training import print_ten, steps
from tests.waiting import until

EVENTS, ROUNDS, RUNS = 1_000_000, 3, 20

STEP_ROUNDS, WIDTH, STEPS = 15, 384, 60

LINES, PAUSE_S = 400, 0.01
"""How often the followed program prints, and the pause between two prints."""

FOLLOWED = """
import sys, time, jax, jax.numpy as jnp, jax_debug_widgets as jdw
step = jax.jit(lambda x: [jax.debug.print("{x}", x=x), x + 1][1])
with jdw.capture(record=sys.argv[1]):
    for i in range(int(sys.argv[2])):
        step(jnp.float32(i)).block_until_ready()
        time.sleep(float(sys.argv[3]))
"""


def main() -> None:
    """Print the tables."""
    keep_memory()
    with tempfile.TemporaryDirectory() as folder:
        of_files(Path(folder))
        of_training(Path(folder))
        of_following(Path(folder))


@jax.jit
def printing(x):
    """Print five values in each step, a million events in all."""

    def body(c, i):
        c = c * 0.999 + jnp.sin(i * 0.01)
        jax.debug.print("step {i} loss {loss}", i=i, loss=c)
        for number in range(4):
            jax.debug.print("{value}", value=c * number)
        return c, None

    return lax.scan(body, x, jnp.arange(EVENTS // 5))[0]


def captured(folder: Path | None) -> None:
    """Capture a million events, and write them if there is a folder."""
    with jdw.capture(record=folder, max_events=2 * EVENTS, max_mb=2048) as run:
        seconds(lambda: printing(jnp.float32(1)))
    if folder is not None:
        until((folder / "p00000/events/part-000000000000-000001000000.parquet").exists)
    assert len(run.events) == EVENTS and not run.notes, run.notes


def of_files(folder: Path) -> None:
    """Measure recording and loading."""
    times: defaultdict[str, list[float]] = defaultdict(list)
    walls: defaultdict[str, list[float]] = defaultdict(list)

    def take(name: str, program: Program) -> None:
        wall, spent = wall_and_processor(program)
        walls[name].append(wall)
        times[name].append(spent)

    captured(None)
    for number in range(ROUNDS):
        run, sweep = folder / f"run{number}.jdw", folder / f"sweep{number}"
        take("capture", lambda: captured(None))
        take("recorded", lambda run=run: captured(run))
        (file,) = run.rglob("events/*")
        rows = parquet.read_table(file)
        take("write", lambda rows=rows: parquet.write_table(rows, folder / "floor", compression="zstd"))
        take("read", lambda file=file: parquet.read_table(file))
        take("load", lambda run=run: jdw.load(run))
        for copy in range(RUNS):
            shutil.copytree(run, sweep / f"{copy}.jdw")
        runs = jdw.load(sweep / "*.jdw")
        take("series", lambda runs=runs: runs.plot("loss"))
        current_session()._runs._loaded.clear()
    nbytes = sum(one.stat().st_size for one in (folder / "run0.jdw").rglob("*") if one.is_file()) / EVENTS
    recording = [one - other for one, other in zip(times["recorded"], times["capture"], strict=True)]
    floor = f"{median(times['read']):.2f} s: pyarrow alone"
    rows = [
        ["recording, an event", f"{median(recording):.2f} µs", f"{median(times['write']):.2f} µs: pyarrow alone"],
        [
            "",
            f"{nbytes:.1f} bytes",
            f"{(folder / 'floor').stat().st_size / EVENTS:.1f} bytes: the same rows as one file",
        ],
        ["capturing alone, an event", f"{median(times['capture']):.2f} µs", ""],
        ["loading", f"{median(times['load']):.2f} s", floor],
        ["loading, by the clock", f"{median(walls['load']):.2f} s", ""],
        [f"one series of {RUNS} runs, all together", f"{median(times['series']):.2f} s", ""],
    ]
    table(f"A run of {EVENTS:,} events as a file, time of the processor", ["", "", "beside"], rows)


def of_training(folder: Path) -> None:
    """Measure a capture with a file and one without, on the training step."""
    program = steps(print_ten, WIDTH, STEPS, in_loop=False)
    ways = {"captured": None, "captured once more": None, "recorded": folder / "steps.jdw"}
    ratios: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)

    def measure(name: str) -> tuple[float, float]:
        with jdw.capture(record=ways[name]) as run:
            both = wall_and_processor(lambda: (program(), jax.effects_barrier()))
        assert len(run.events) == 10 * STEPS
        return both

    with stdout_to_null():
        measure("captured")
        before = measure("captured")
        for turn in range(STEP_ROUNDS):
            for name in rotated([*ways][1:], turn):
                measured, after = measure(name), measure("captured")
                wall, processor = (2 * one / (a + b) for one, a, b in zip(measured, before, after, strict=True))
                ratios[name].append((wall, processor))
                before = after
    rows = []
    for name, both in ratios.items():
        figures = [np.percentile(column, [25, 50, 75]) for column in zip(*both, strict=True)]
        rows.append([name, *(f"{middle:.3f} ({low:.3f} to {high:.3f})" for low, middle, high in figures)])
    table(f"A training step, {WIDTH} wide, ratio to captured, quartiles", ["", "clock", "processor"], rows)


def of_following(folder: Path) -> None:
    """Measure how long it takes until an event of another process is in a run that follows that process."""
    path = folder / "followed.jdw"
    command = [sys.executable, "-c", FOLLOWED, str(path), str(LINES), str(PAUSE_S)]
    with subprocess.Popen(command) as program:
        until((path / "run.json").exists)
        run = jdw.load(path, follow=True)
        store, late, known = run.store, [], 0
        while known < LINES and program.poll() is None:
            if len(store) > known:
                now_ns = (time.time() - run.started) * 1e9
                pieces = store.columns(known, len(store))
                late += [(now_ns - at) / 1e6 for piece in pieces for at in piece.time_ns.tolist()]
                known = len(store)
            time.sleep(0.001)
    low, middle, high = np.percentile(late[LINES // 10 :], [50, 95, 100])
    rows = [[f"behind, of {len(late)} events", f"{low:.0f} ms", f"{middle:.0f} ms", f"{high:.0f} ms"]]
    table(f"Following a process that prints each {PAUSE_S * 1e3:.0f} ms", ["", "median", "95 %", "most"], rows)
