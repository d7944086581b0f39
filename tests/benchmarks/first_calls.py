"""Measure the first call of a program that prints many computed numbers: tracing, compiling and running."""

from __future__ import annotations

import importlib.util
import itertools
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import jax

import jax_debug_widgets as jdw
from tests.benchmarks.timing import interleaved, median, ratio, stdout_to_null, table

COUNTS = (10, 100, 400)
MOST = 1.5
"""The highest ratio to plain JAX that a capture may take with the most numbers."""

REPEATS = 7
_numbers = itertools.count()


def program(folder: str, count: int) -> Any:
    """Return a function in a file of its own that has not been called before."""
    file = Path(folder) / f"printing_{next(_numbers)}.py"
    lines = [f'    jax.debug.print("{number}: {{x}}", x=x + {number})\n' for number in range(count)]
    file.write_text(f"import jax\n\n@jax.jit\ndef printing(x):\n{''.join(lines)}    return x\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.printing


def plain(folder: str, count: int) -> Any:
    """Call it without a capture."""
    with stdout_to_null():
        result = program(folder, count)(1.0)
        jax.effects_barrier()
    return result


def captured(folder: str, count: int) -> Any:
    """Call it in a capture that takes all its prints."""
    with jdw.capture() as run:
        result = program(folder, count)(1.0)
    assert len(run.events) == count
    return result


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        ways = {(way.__name__, count): partial(way, folder, count) for count in COUNTS for way in (plain, captured)}
        times = interleaved({f"{way} {count}": run for (way, count), run in ways.items()}, REPEATS, time.process_time)
    rows = []
    for count in COUNTS:
        theirs, ours = times[f"plain {count}"], times[f"captured {count}"]
        rows.append([f"{count} sites", f"{median(theirs):.2f}", f"{median(ours):.2f}", f"{ratio(ours, theirs):.2f}"])
    table(
        f"First calls (processor time; at most {MOST} with the most sites)",
        ["", "plain s", "captured s", "ratio"],
        rows,
    )
