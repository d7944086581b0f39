"""A run that several processes have written: each is there, and where they part is a finding."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw


@jax.jit
def train_step(x):
    y = x * 2
    jax.debug.print("loss {loss}", loss=y.sum())
    return y


@jax.jit
def eval_step(x):
    jax.debug.print("eval {x}", x=x.sum())


def of_processes(folder, *programs: Callable[[], object]):
    """A run in which each process runs one of these, written as `jax.distributed` has it."""
    for process, program in enumerate(programs):
        with jdw.capture(watch="y") as run:
            program()
        single = run.save(folder.with_name(f"{folder.name}-{process}"))
        if not folder.exists():
            shutil.copytree(single, folder)
        elif process:
            shutil.copytree(single / "p00000", folder / f"p{process:05d}")
    return folder


def steps(*values: Any):
    return lambda: [train_step(jnp.full(3, value)) for value in values]


@pytest.mark.behaviour("W6")
def test_each_process_is_there_and_alike_they_say_nothing(tmp_path):
    run = jdw.load(of_processes(tmp_path / "run.jdw", steps(1.0, 2.0), steps(1.0, 2.0)))
    assert [one.process for one in run.processes] == [0, 1] and run.processes[0] is run
    assert [[event.text for event in one.events if event.kind == "print"] for one in run.processes] == [
        ["loss 6.0", "loss 12.0"]
    ] * 2
    assert not run.findings and "This is process 0, of 2" in run.notes[-1] and run.is_complete
    assert run.processes[1].panel.bundle()["text/html"]


@pytest.mark.behaviour("W6")
def test_a_value_that_was_the_same_in_all_processes_and_is_not_any_more_is_found(tmp_path):
    ours, theirs = steps(1.0, 2.0, 3.0, 4.0), steps(1.0, 2.0, 3.0, np.nextafter(np.float32(4), np.float32(5)))
    run = jdw.load(of_processes(tmp_path / "run.jdw", ours, theirs))
    found = [one for one in run.findings if one.kind == "replicas"]
    assert found and all("equal to the bit 3 times" in one.why and "process 1" in one.why for one in found)
    own = jdw.load(of_processes(tmp_path / "own.jdw", steps(1.0, 2.0, 3.0), steps(5.0, 6.0, 7.0)))
    assert not own.findings, "what differs from the first on is the processes' own"


@pytest.mark.behaviour("W6")
def test_processes_that_call_different_programs_are_found(tmp_path):
    def evaluated():
        train_step(jnp.ones(3))
        eval_step(jnp.ones(3))

    run = jdw.load(of_processes(tmp_path / "run.jdw", steps(1.0, 1.0), evaluated))
    (found,) = run.findings
    assert found.headline == "process 0 calls `train_step`, process 1 `eval_step`" and found.where == "call 1"


@pytest.mark.behaviour("W6")
def test_a_process_that_died_is_named_with_its_last_event(tmp_path):
    folder = of_processes(tmp_path / "run.jdw", steps(1.0, 2.0, 3.0), steps(1.0, 2.0))
    for process, pid in ((0, os.getpid()), (1, 2**22 + 1)):  # There is no such process.
        state = folder / f"p{process:05d}/state.json"
        state.write_text(json.dumps({**json.loads(state.read_text()), "is_over": False}))
        about = folder / f"p{process:05d}/process.json"
        about.write_text(json.dumps({**json.loads(about.read_text()), "pid": pid}))
    run = jdw.load(folder)
    told = "".join(run.notes)
    assert "Process 1 is gone; its last call is 1 `train_step` (drained); its last event: y: min 4, max 4" in told
    assert "Call 2 `train_step` (drained) of another process: not called by process 1." in told
