"""Measure how others log the same scalar of the same program: rerun, tensorboardX, wandb (offline), jax-tap."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from tests.benchmarks.events import FEW, PLAIN, captured, loop, print_x
from tests.benchmarks.timing import Program, interleaved, stdout_to_null, table

REPEATS = 5
INSTALL = 'pip install "jax-debug-widgets[peers]"'


def logging(log: Callable[[float], object]) -> Program:
    """Return a loop that passes each of its scalars to `log`."""
    return loop(lambda x: jax.debug.callback(lambda value: log(float(value)), x, ordered=True), FEW)


@contextlib.contextmanager
def rerun(_folder: str) -> Iterator[Program]:
    """Yield a program that logs into memory with rerun."""
    rr: Any = importlib.import_module("rerun")
    rr.init("jax_debug_widgets_benchmark", spawn=False)
    rr.memory_recording()
    yield logging(lambda value: rr.log("x", rr.Scalars(value)))
    rr.disconnect()


@contextlib.contextmanager
def tensorboard_x(folder: str) -> Iterator[Program]:
    """Yield a program that logs into event files with tensorboardX."""
    with importlib.import_module("tensorboardX").SummaryWriter(folder) as writer:
        yield logging(lambda value: writer.add_scalar("x", value))


@contextlib.contextmanager
def wandb(folder: str) -> Iterator[Program]:
    """Yield a program that logs offline into files with wandb."""
    module: Any = importlib.import_module("wandb")
    settings = module.Settings(console="off", silent=True, x_disable_stats=True)
    run = module.init(project="benchmark", mode="offline", dir=folder, settings=settings)
    yield logging(lambda value: run.log({"x": value}))
    run.finish()


@contextlib.contextmanager
def jax_tap(_folder: str) -> Iterator[Program]:
    """Yield a program without logging; jax-tap puts the carry of its loop into a list."""
    module: Any = importlib.import_module("jaxtap")
    kept: list[object] = []

    def silent(x):
        return lax.scan(lambda x, _: (x * 1.0001 + 1e-3, None), x, None, length=FEW)[0]

    yield partial(jax.jit(module.verbose(silent, on_step=kept.append)), jnp.float32(1))


PEERS = {"rerun": rerun, "tensorboardX": tensorboard_x, "wandb, offline": wandb, "jax-tap": jax_tap}
MODULES = {"rerun": "rerun", "tensorboardX": "tensorboardX", "wandb, offline": "wandb", "jax-tap": "jaxtap"}


def main() -> None:
    """Print the table; a package that is not installed has a row that says so."""
    ours = "jax.debug.print, captured"
    programs: dict[str, Program] = {ours: captured(loop(print_x, FEW), FEW), PLAIN: loop(print_x, FEW)}
    missing = []
    os.environ.setdefault("WANDB_SILENT", "true")
    with contextlib.ExitStack() as opened, stdout_to_null():
        folder = opened.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        for name, peer in PEERS.items():
            if importlib.util.find_spec(MODULES[name]) is None:
                missing.append(name)
            else:
                programs[name] = opened.enter_context(peer(folder))
        runs = interleaved(programs, REPEATS, time.process_time)
    times = {name: min(seconds) / FEW * 1e6 for name, seconds in runs.items()}
    rows = [[name, f"{us:.1f}", f"{us / times[ours]:.1f} ×"] for name, us in times.items()]
    rows += [[name, "not installed", INSTALL] for name in missing]
    table(f"One scalar a step, {FEW} steps, beside others (processor time)", ["", "µs an event", "of ours"], rows)
