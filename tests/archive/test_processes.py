"""Test a run that several processes have written: it has the events of all, and their first difference is a finding."""

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
from jax_debug_widgets.archive import writer
from jax_debug_widgets.session import recorder


@jax.jit
def train_step(x):
    y = x * 2
    jax.debug.print("loss {loss}", loss=y.sum())
    return y


@jax.jit
def eval_step(x):
    jax.debug.print("eval {x}", x=x.sum())


@jax.jit
def looped(x):
    def body(x, _):
        jax.debug.print("x {x}", x=x)
        return x * 1.001, None

    return jax.lax.scan(body, x, length=4000)


@jax.jit
def other_step(x):
    jax.debug.print("other {x}", x=x.sum())


def of_processes(folder, *programs: Callable[[], object]):
    """Write a run in which each process runs one of these functions, as under `jax.distributed`."""
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


def texts(run, process):
    return [event.text for event in run.events if event.process == process and event.kind == "print"]


@pytest.mark.behaviour("R6")
@pytest.mark.behaviour("W6")
def test_processes_are_one_run_and_each_a_run_of_its_own(tmp_path):
    run = jdw.load(of_processes(tmp_path / "run.jdw", steps(1.0, 2.0), steps(1.0, 2.0)))
    assert [texts(run, process) for process in (0, 1)] == [["loss 6.0", "loss 12.0"]] * 2
    assert [one.process for one in run.processes] == [0, 1]
    assert [[event.process for event in one.events] for one in run.processes] == [[0] * 4, [1] * 4]
    assert [event.seq for event in run.events] == list(range(8)) and [call.events for call in run.calls] == [4, 4]
    assert not run.findings and run.is_complete and any("This run merges 2 processes" in note for note in run.notes)
    assert all(one.panel.bundle()["text/html"] for one in (run, *run.processes))


@pytest.mark.behaviour("R6")
def test_the_first_nan_of_all_is_that_of_the_process_that_has_one(tmp_path):
    run = jdw.load(of_processes(tmp_path / "run.jdw", steps(1.0, 2.0), steps(1.0, np.inf)))
    first = run.status().first_nonfinite
    assert first is not None
    (event,) = [one for one in run.events if one.seq == first.event]
    assert (event.process, event.site.id, event.call) == (1, first.site, 1)


@pytest.mark.behaviour("R6")
@pytest.mark.behaviour("W6")
def test_a_value_that_is_the_same_in_all_processes_is_one_series_and_others_are_one_each(tmp_path):
    run = jdw.load(of_processes(tmp_path / "run.jdw", steps(1.0, 2.0), steps(1.0, 2.0), steps(1.0, 5.0)))
    np.testing.assert_array_equal(run.series("loss · process 2")[1], [6, 30])
    with pytest.raises(KeyError, match=r"process 0, .*process 1, .*process 2"):
        run.series("loss")
    assert [line.get_label() for line in run.plot("loss").lines] == [f"loss · process {n}" for n in range(3)]
    same = jdw.load(of_processes(tmp_path / "same.jdw", steps(1.0, 2.0), steps(1.0, 2.0)))
    np.testing.assert_array_equal(same.series("loss")[1], [6, 12])
    np.testing.assert_array_equal(same["y"]["mean"], [2, 4])
    copies = [event.site.process for event in same.events if event.site.id in same.copies]
    assert copies == [1] * 4, "both sites of process 1 are those of process 0"


@pytest.mark.behaviour("R6")
@pytest.mark.behaviour("W6")
def test_events_of_all_processes_are_in_the_order_of_one_clock(tmp_path):
    folder = of_processes(tmp_path / "run.jdw", steps(1.0, 2.0), steps(1.0, 2.0))
    about = folder / "p00001/process.json"
    told = json.loads(about.read_text())
    began = json.loads((folder / "p00000/process.json").read_text())["started"]
    for ahead in (0.0, 3.0):  # Both processes began at the same moment; one clock is wrong.
        clock = {"ahead": ahead, "error": 1e-4}
        about.write_text(json.dumps({**told, "started": began + ahead, "clock": clock}))
        run = jdw.load(folder)
        times = [event.time_ns for event in run.events]
        assert times == sorted(times) and run.calls[0].started_ns < 1e9
        own = [event.time_ns for event in run.processes[1].events]
        assert [event.time_ns for event in run.events if event.process == 1] == own
    assert any("The clock of process 1" in note and "+3.000000 s" in note for note in run.notes)


@pytest.mark.behaviour("R6")
@pytest.mark.behaviour("W6")
def test_a_value_that_was_the_same_in_all_processes_and_is_not_any_more_is_found(tmp_path):
    ours, theirs = steps(1.0, 2.0, 3.0, 4.0), steps(1.0, 2.0, 3.0, np.nextafter(np.float32(4), np.float32(5)))
    run = jdw.load(of_processes(tmp_path / "run.jdw", ours, theirs))
    found = [one for one in run.findings if one.kind == "replicas"]
    assert found and all("equal to the bit 3 times" in one.why and "process 1" in one.why for one in found)
    assert run.status().findings == len(run.findings) and not run.copies
    own = jdw.load(of_processes(tmp_path / "own.jdw", steps(1.0, 2.0, 3.0), steps(5.0, 6.0, 7.0)))
    assert not own.findings, "what differs from the first on is the processes' own"
    constant = jdw.load(of_processes(tmp_path / "constant.jdw", steps(0.0, 0.0, 0.0, 1.0), steps(0.0, 0.0, 0.0, 2.0)))
    assert not constant.findings, "what has not changed tells nothing"


@pytest.mark.behaviour("R6")
@pytest.mark.behaviour("W6")
def test_a_value_of_the_processes_own_is_no_replica_though_one_statistic_is_equal(tmp_path):
    batch = np.array([0.0, 1.0, 2.0])
    ours, theirs = ([batch + own, batch + own, batch * scale + own] for own, scale in ((0, 2), (10, 4)))
    run = jdw.load(of_processes(tmp_path / "run.jdw", steps(*ours), steps(*theirs)))
    assert not run.findings and not run.copies


def evaluated(*kinds: str):
    """Return a program with a training step for each kind, followed by that kind of evaluation, if any."""

    def program():
        for number, kind in enumerate(kinds):
            train_step(jnp.full(3, number))
            if kind:
                {"eval": eval_step, "other": other_step}[kind](jnp.full(3, number))

    return program


@pytest.mark.parametrize(
    "theirs", [("eval", "eval", "eval", "other", "eval"), ("eval", "eval", "eval", "", "eval")], ids=["another", "none"]
)
@pytest.mark.behaviour("R6")
@pytest.mark.behaviour("W6")
def test_behind_a_call_of_another_program_nothing_is_reported_of_replicas(tmp_path, theirs):
    run = jdw.load(of_processes(tmp_path / "run.jdw", evaluated(*["eval"] * 5), evaluated(*theirs)))
    assert [(one.kind, one.where) for one in run.findings if one.kind in ("programs", "replicas")] == [
        ("programs", "call 7")
    ]


@pytest.mark.behaviour("R6")
@pytest.mark.behaviour("W6")
def test_a_replica_that_parts_is_found_in_its_call_though_another_program_follows(tmp_path):
    def parting():
        for number in (0.0, 1.0, 2.5):
            train_step(jnp.full(3, number))
        eval_step(jnp.ones(3))

    run = jdw.load(of_processes(tmp_path / "run.jdw", steps(0.0, 1.0, 2.0, 3.0), parting))
    assert [one.kind for one in run.findings if "call 2" in one.why] == ["replicas"] * 2


@pytest.mark.behaviour("R6")
@pytest.mark.behaviour("W6")
def test_following_a_job_before_it_begins_shows_all_its_processes(tmp_path, monkeypatch):
    folder, written, seen = tmp_path / "run.jdw", writer._write_whole, []

    def looked_at(*args: Any, **options: Any):
        written(*args, **options)
        if (folder / "run.json").exists() and not seen:
            seen.append(jdw.load(folder))

    monkeypatch.setattr(writer, "_write_whole", looked_at)
    for process in (0, 1):
        monkeypatch.setenv("JDW_PROCESS", str(process))
        monkeypatch.setenv("JDW_PROCESSES", "2")
        with jdw.capture(record=folder):
            train_step(jnp.full(3, 1.0))
    (run,) = seen
    run.follow()
    assert [len(one.events) for one in run.processes] == [1, 1]


def test_a_process_with_missing_events_is_not_compared_with_replicas(tmp_path, monkeypatch):
    """A file in the middle is missing: it was damaged, or removed because of `record_max_mb` before it was read."""
    monkeypatch.setattr(recorder, "_PAUSE_S", 1000.0)
    monkeypatch.setattr(recorder, "_PART_BYTES", 30_000)
    folder = tmp_path / "run.jdw"
    for process in (0, 1):
        monkeypatch.setenv("JDW_PROCESS", str(process))
        monkeypatch.setenv("JDW_PROCESSES", "2")
        with jdw.capture(record=folder):
            looped(jnp.float32(1))
    assert not jdw.load(folder).findings
    second = sorted((folder / "p00001/events").iterdir())[1]
    second.unlink()
    run = jdw.load(folder)
    lost = 4000 - len(run.processes[1].events)
    assert lost > 0 and run.processes[1].dropped == lost and not run.findings


def test_processes_that_call_different_programs_are_found(tmp_path):
    def evaluated():
        train_step(jnp.ones(3))
        eval_step(jnp.ones(3))

    run = jdw.load(of_processes(tmp_path / "run.jdw", steps(1.0, 1.0), evaluated))
    (found,) = run.findings
    assert found.headline == "process 0 calls `train_step`, process 1 `eval_step`" and found.where == "call 1"
    assert [call.name for call in run.calls] == ["train_step", "train_step | eval_step"]


@pytest.mark.behaviour("R6")
@pytest.mark.behaviour("W6")
def test_a_process_that_died_is_named_with_its_last_event_and_what_it_has_not_called(tmp_path):
    folder = of_processes(tmp_path / "run.jdw", steps(1.0, 2.0, 3.0), steps(1.0, 2.0))
    for process, pid in ((0, os.getpid()), (1, 2**22 + 1)):  # No process has the second number.
        state = folder / f"p{process:05d}/state.json"
        state.write_text(json.dumps({**json.loads(state.read_text()), "is_over": False}))
        about = folder / f"p{process:05d}/process.json"
        about.write_text(json.dumps({**json.loads(about.read_text()), "pid": pid, "processes": 3}))
    run = jdw.load(folder)
    told = "".join(run.notes)
    assert "has no end" not in told
    assert "Process 1 is gone; its last call is 1 `train_step` (done); its last event: y: min 4, max 4" in told
    assert "Process 1 has not made call 2 `train_step`." in told and "Process 2 of this job has written nothing" in told
    barrier, (first, second) = run.status().barrier, run.status().processes
    assert barrier.state == "pending" and "process 1 has not made call 2 `train_step`" in barrier.pending
    assert not first.sign and second.sign == "is gone"
    np.testing.assert_array_equal(run.series("loss")[1], [6, 12, 18])
    np.testing.assert_array_equal(run.series("loss · process 1")[1], [6, 12])
    np.testing.assert_array_equal(run["y"]["mean"], [2, 4, 6])
    assert [line.get_label() for line in run.plot("loss").lines] == ["loss"]
    with pytest.raises(KeyError, match=r"of 'y' there are y\.min, [^;]*y\.neginf;") as raised:
        run.series("y")
    assert str(raised.value).count("y.min") == 1


@pytest.mark.behaviour("R6")
@pytest.mark.behaviour("W6")
def test_a_table_of_runs_says_of_a_run_what_its_processes_say_together(tmp_path):
    folder = of_processes(
        tmp_path / "run.jdw", steps(1.0, 1.0), lambda: [train_step(jnp.ones(3)), eval_step(jnp.ones(3))]
    )
    file = folder / "p00001/state.json"
    told = json.loads(file.read_text())
    file.write_text(json.dumps({**told, "status": {**told["status"], "state": "failed"}}))
    run = jdw.load(folder)
    (row,) = jdw.load(f"{tmp_path}/run.jd[w]").rows
    assert (row.state, row.events, row.findings) == ("failed", len(run.events), len(run.findings))
    assert run.processes[0].status().state == "done" and row.findings == 1


@pytest.mark.behaviour("W6")
@pytest.mark.parametrize("name", ["own.jdw", "own.jdw.zip"])
def test_a_process_that_is_saved_is_a_run_of_its_own(tmp_path, name):
    run = jdw.load(of_processes(tmp_path / "run.jdw", steps(1.0, 2.0), steps(3.0, 4.0)))
    own = jdw.load(run.processes[1].save(tmp_path / name))
    assert [one.process for one in own.processes] == [1] and texts(own, 1) == ["loss 18.0", "loss 24.0"]
    assert own.is_complete and not own.notes
    assert len(jdw.load(run.save(tmp_path / f"all-{name}")).processes) == 2
