"""Test a run that is recorded while it runs: no written event is lost, and the program is not affected."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.archive import tables, writer
from jax_debug_widgets.archive.reader import RunReader
from jax_debug_widgets.session import recorder
from jax_debug_widgets.session.run.call_rows import CallRows
from jax_debug_widgets.session.run.loaded_notes import NUMBA_COMPILES
from jax_debug_widgets.session.termination import TERMINATION
from jax_debug_widgets.store import Budget
from tests.archive.programs import assert_same_events, everything
from tests.waiting import until


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    """Look every few milliseconds."""
    monkeypatch.setattr(recorder, "_PAUSE_S", 0.005)
    monkeypatch.setattr(recorder, "_STATE_S", 0.01)


@jax.jit
def stepped(x, i):
    y = x * i
    jax.debug.print("{i} loss {y}", i=i, y=y.sum())
    return y


def steps(count):
    for i in range(count):
        stepped(jnp.ones(30), i)


@pytest.mark.behaviour("R1")
def test_a_recorded_run_is_the_run_and_is_sealed_when_it_is_over(tmp_path, monkeypatch):
    monkeypatch.setenv("JDW_RECORD", str(tmp_path / "all.jdw"))
    run = everything()
    loaded = jdw.load(tmp_path / "all.jdw")
    assert_same_events(run.events, loaded.events)
    assert loaded.is_complete and not list(tmp_path.rglob("live-*"))
    assert run.calls == loaded.calls and run.notes == loaded.notes and repr(run) == repr(loaded)
    assert "jax.debug.print" in "\n".join(loaded.source_of(run.sites[0].file)["lines"])


def test_the_file_has_the_events_that_memory_has_dropped(tmp_path, monkeypatch):
    monkeypatch.setattr(recorder, "_PART_ROWS", 300)
    parts = lambda: list(tmp_path.rglob("watched/part-*"))  # noqa: E731
    with jdw.capture(watch="y", values=True) as control:
        steps(300)
        steps(300)
    with jdw.capture(watch="y", values=True, max_events=100, record=tmp_path / "run.jdw") as run:
        steps(300)
        until(parts)
        steps(300)
    assert run.dropped > 0 and len(run.events) <= 100
    loaded = jdw.load(tmp_path / "run.jdw")
    assert (loaded.dropped, len(loaded.events)) == (0, 1200) and len(parts()) > 1
    for ours, theirs in zip(control.series("y.sum()"), loaded.series("y.sum()"), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(control["y"]["value"], loaded["y"]["value"])
    assert not loaded.notes, "that the memory has let go of some is nothing to the file"


def test_a_bound_lets_go_of_the_oldest_and_counts_them(tmp_path):
    with jdw.capture(watch="y", values=True, record=tmp_path / "run.jdw", record_max_mb=0.2) as run:
        for _ in range(10):
            steps(200)
            until(lambda: run.collect() or recorded(tmp_path / "run.jdw") >= len(run.store))
    loaded = jdw.load(tmp_path / "run.jdw")
    assert loaded.dropped > 0 and loaded.dropped + len(loaded.events) == len(run.events) == 4000
    assert_same_events(list(run.events)[loaded.dropped :], loaded.events)
    assert sum(loaded.store.dropped_by_site().values()) == loaded.dropped
    files = [file for name in ("events", "watched", "arrays") for file in tmp_path.rglob(f"{name}/*")]
    assert sum(file.stat().st_size for file in files) < 0.25e6


def recorded(folder):
    """How many events there are in the folder, and were before."""
    return len(RunReader(folder, Budget()).read().store)


def test_a_name_that_is_taken_is_not_written_over(tmp_path):
    runs = []
    for number in range(3):
        with jdw.capture(record=tmp_path / "run.jdw") as run:
            steps(number)
        runs.append(run)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run-2.jdw", "run-3.jdw", "run.jdw"]
    assert len(jdw.load(tmp_path / "run-3.jdw").events) == 2 and "run-3.jdw" in runs[2].notes[0]


@pytest.mark.parametrize("failing", ["append", "seal", "state", "begin"])
def test_a_full_disk_stops_the_recording_and_nothing_else(tmp_path, monkeypatch, capsys, failing):
    def full(*_args: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    folder = tmp_path / "run.jdw"
    if failing == "begin":
        monkeypatch.setattr(writer, "_begin", full)
    with jdw.capture(record=folder) as run:
        steps(3)
        if failing != "begin":
            until(lambda: recorded(folder) == 3 and (folder / "p00000/state.json").exists())
        if failing == "append":
            monkeypatch.setattr(tables.TableWriter, "append", full)
        elif failing == "seal":
            monkeypatch.setattr(tables, "_write_part", full)
        elif failing == "state":
            monkeypatch.setattr(writer, "_write_whole", full)
        steps(2)
    assert len(run.events) == 5 and run.status().state == "done"
    (note,) = run.notes
    assert "No space left on device" in note and capsys.readouterr().err == f"jaxdebug: {note}\n"
    if failing != "begin":
        assert note.startswith("Recording stopped") and len(jdw.load(folder).events) >= 3


def test_a_disk_that_is_really_full(tmp_path):
    """A file system that refuses to write: every file of the folder is larger than the process may make any."""
    code = f"""
        import resource, signal, jax, jax.numpy as jnp, jax_debug_widgets as jdw
        from jax_debug_widgets.session import recorder
        recorder._PAUSE_S = 0.01
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
        step = jax.jit(lambda x, i: [jax.debug.print("{{x}}", x=x), x + i][1])
        with jdw.capture(record=r"{tmp_path}/run.jdw") as run:
            x = first = jax.random.normal(jax.random.key(0), (3000,))
            for i in range(100):
                x = step(x, i)
        assert len(run.events) == 100 and float((x - first)[0]) > 4949
        (note,) = run.notes
        assert "Recording stopped: File too large" in note, note
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


KILLED = """
import itertools, os, sys, jax, jax.numpy as jnp, jax_debug_widgets as jdw
from jax_debug_widgets.archive import writer  # And pyarrow, once.
from jax_debug_widgets.session import recorder
recorder._PAUSE_S, recorder._PART_ROWS = 0.005, 100

def child(folder):
    @jax.jit
    def step(x, i):
        y = x * i
        jax.debug.print("{i} loss {y}", i=i, y=y.sum())
        return y

    with jdw.capture(watch="y", values=True, record=folder):
        for i in itertools.count():
            step(jnp.ones(30), i)

for folder in sys.stdin:  # JAX is imported once, and each child starts its own backend.
    process = os.fork()
    if not process:
        child(folder.strip())
    print(process, flush=True)
    os.waitpid(process, 0)
"""


@pytest.mark.behaviour("R1")
def test_killed_processes_leave_all_that_was_written(tmp_path, pytestconfig):
    """Each is killed at another moment: after so many files were sealed, or while one is. `--cases all` kills 20 in a row."""
    (script := tmp_path / "train.py").write_text(KILLED)
    command = [sys.executable, "-W", "ignore", str(script)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdin is not None and parent.stdout is not None
        for number in range(20 if pytestconfig.getoption("cases") == "all" else 3):
            folder = tmp_path / f"run{number}.jdw"
            parent.stdin.write(f"{folder}\n")
            parent.stdin.flush()
            process = int(parent.stdout.readline())
            try:
                sealed = "part-*" if number % 2 else "*/*.tmp"
                until(lambda folder=folder: recorded_if_any(folder) > 50)
                until(lambda folder=folder, n=number % 4: len(list(folder.rglob("part-*"))) > 3 * n)
                until(lambda folder=folder, sealed=sealed: list(folder.rglob(sealed)))
                before = recorded(folder)
            finally:
                os.kill(process, signal.SIGKILL)
            until(lambda process=process: not Path(f"/proc/{process}").exists())
            assert_is_whole(jdw.load(folder), before)
        parent.stdin.close()


def recorded_if_any(folder):
    """The same; 0 where there is nothing yet."""
    return recorded(folder) if (folder / "run.json").exists() else 0


def assert_is_whole(loaded, before):
    """Each event that was in the folder is there, once and in order, with its values."""
    assert len(loaded.events) >= before > 0
    assert [event.seq for event in loaded.events] == list(range(len(loaded.events)))
    printed = [event.text.split()[0] for event in loaded.events if event.kind == "print"]
    assert printed == [str(i) for i in range(len(printed))]
    np.testing.assert_array_equal(loaded["y"]["mean"], np.arange(len(loaded["y"]["mean"])))
    assert loaded.status().state == "interrupted"
    assert any("no end: its process was killed, or ran out of memory" in note for note in loaded.notes)
    assert loaded.title == "capture" and loaded.panel.bundle()["text/html"]


def test_a_call_is_over_in_the_file_only_when_its_events_are_there(tmp_path):
    """The process may be killed after each write."""
    with jdw.capture() as run:
        steps(3)
    rows = CallRows(run.call_log)
    first, second, third = rows.take(collected_ns=run.calls[1].drained_ns)
    assert (first, second) == (run.calls[0], run.calls[1])
    assert (third.state, third.drained_ns, third.events) == ("ready", None, 1)
    assert rows.take(collected_ns=None) == [run.calls[2]] and rows.take(collected_ns=None) == []

    stored = writer.RunWriter(tmp_path / "run.jdw", {})
    stored.take_calls([replace(call, events=0) for call in run.calls])
    stored.take(list(run.store.kept()))
    stored.close()
    assert [call.events for call in jdw.load(tmp_path / "run.jdw").calls] == [1, 1, 1]


def test_a_run_that_goes_on_is_read_as_far_as_it_has_come(tmp_path):
    with jdw.capture(record=tmp_path / "run.jdw") as run:
        steps(5)
        until(lambda: recorded(tmp_path / "run.jdw") == 5)
        assert not jdw.load(tmp_path / "run.jdw").is_complete
        steps(5)
    assert_same_events(run.events, jdw.load(tmp_path / "run.jdw").events)


def test_a_process_that_is_forked_leaves_the_recording_to_the_other(tmp_path):
    code = f"""
        import os, jax, jax.numpy as jnp, jax_debug_widgets as jdw
        from jax_debug_widgets.session import current_session
        with jdw.capture(record=r"{tmp_path}/run.jdw") as run:
            jax.debug.print("before {{x}}", x=jnp.ones(3))
            child = os.fork()
            if not child:
                # What is to be done at exit, but for JAX's part, which may crash.
                ((_, recording),) = current_session()._open._all
                recording._recorder.finish()
                os._exit(3)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
            jax.debug.print("after {{x}}", x=jnp.ones(3))
        assert len(jdw.load(r"{tmp_path}/run.jdw").events) == 2
    """
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert jdw.load(tmp_path / "run.jdw").is_complete


def test_a_run_whose_effects_are_pending_is_sealed_when_the_process_ends(tmp_path):
    code = f"""
        import jax, jax.numpy as jnp, jax_debug_widgets as jdw, threading
        wait = lambda _: threading.Event().wait(0.5)
        with jdw.capture(record=r"{tmp_path}/run.jdw", timeout=0.01):
            jax.jit(lambda x: [jax.debug.print("x {{x}}", x=x), jax.debug.callback(wait, x)])(1)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], timeout=120, check=True)
    assert len(jdw.load(tmp_path / "run.jdw").events) == 2 and not list(tmp_path.rglob("live-*"))


def test_the_recording_thread_ends_with_the_capture(tmp_path):
    with jdw.capture(record=tmp_path / "run.jdw"):
        steps(2)
    until(lambda: not any(thread.name == "jaxdebug-record" for thread in threading.enumerate()))


def test_a_path_that_is_none_is_refused_before_anything_begins():
    with pytest.raises(TypeError, match="record must be the path of a folder"):
        jdw.capture(record=3)  # pyright: ignore[reportArgumentType] - that is what is tested.
    with pytest.raises(ValueError, match="record_max_mb must be greater than 0"):
        jdw.capture(record="run.jdw", record_max_mb=0)


def test_a_cell_is_recorded(ours, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ours.run("%%jaxdebug --record run.jdw --name lr3\nf(jnp.arange(3))")
    run = jdw.load("run.jdw")
    assert [event.text for event in run.events] == ["x [0 1 2]"] and run.name == "lr3"
    assert Path("run.jdw/p00000/sources.jsonl").exists()


def test_a_program_that_changes_its_directory_is_recorded_where_it_began(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with jdw.capture(record="run.jdw") as run:
        os.chdir("elsewhere")
        for i in range(3):
            stepped(jnp.ones(2), i)
    assert not any("Recording stopped" in note for note in run.notes)
    assert len(run.events) == 3
    assert_same_events(run.events, jdw.load(tmp_path / "run.jdw").events)


TERMINATED = """
import os, signal, sys, jax, jax.numpy as jnp, jax_debug_widgets as jdw
from jax_debug_widgets.session import recorder
recorder._PAUSE_S = 1000.0  # Nothing is written but for the signal.

if sys.argv[2] == "handled":
    signal.signal(signal.SIGTERM, lambda *_: [print("mine"), sys.stdout.flush(), os._exit(5)])
with jdw.capture(record=sys.argv[1], barrier=False):
    for i in range(7):
        jax.debug.print("{i}", i=i)
    jax.effects_barrier()
    os.kill(os.getpid(), signal.SIGTERM)
print("not reached")
"""


@pytest.mark.behaviour("R1")
@pytest.mark.parametrize(("way", "status", "said"), [("handled", 5, "mine\n"), ("plain", -signal.SIGTERM, "")])
def test_a_process_that_is_asked_to_end_writes_all_and_ends_as_it_would(tmp_path, way, status, said):
    command = [sys.executable, "-c", TERMINATED, str(tmp_path / "run.jdw"), way]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (status, said), done.stderr
    run = jdw.load(tmp_path / "run.jdw")
    assert [event.text for event in run.events] == [*"0123456"] and run.status().state == "interrupted"


def test_the_handler_of_the_program_is_back_after_the_recording(tmp_path):
    if (
        before := signal.getsignal(signal.SIGTERM)
    ) == TERMINATION._heard:  # An earlier recording was ended by its thread.
        signal.signal(signal.SIGTERM, before := TERMINATION._before)
    with jdw.capture(record=tmp_path / "run.jdw"):
        assert signal.getsignal(signal.SIGTERM) != before
    until(lambda: jdw.load(tmp_path / "run.jdw").is_complete)
    with jdw.capture(record=tmp_path / "run.jdw"), jdw.capture(record=tmp_path / "run.jdw"):
        pass
    assert signal.getsignal(signal.SIGTERM) in (before, TERMINATION._heard) and TERMINATION._before == before


def test_a_burst_that_is_larger_than_the_bound_is_bounded_too(tmp_path, monkeypatch):
    monkeypatch.setattr(recorder, "_PAUSE_S", 1000.0)
    noise = np.random.default_rng(0).normal(size=(300, 1000)).astype(np.float32)
    program = jax.jit(lambda x: jax.debug.callback(lambda _: None, x))
    with jdw.capture(record=tmp_path / "run.jdw", record_max_mb=0.3) as run:
        for row in noise:
            program(row)
    files = [file for name in ("events", "watched", "arrays") for file in tmp_path.rglob(f"{name}/*")]
    loaded = jdw.load(tmp_path / "run.jdw")
    assert sum(file.stat().st_size for file in files) < 0.4 * (1 << 20)
    assert 0 < len(loaded.events) < 300 == len(run.events) and loaded.events[-1].values[0][0] == noise[-1, 0]


def test_files_that_are_sealed_at_once_are_not_those_of_a_run_that_is_over(tmp_path, monkeypatch):
    """A reader takes sealed files without a state for those of a run that is over."""
    seal, seen, made = writer.RunWriter.seal, [], []

    def sealed(own):
        seal(own)
        seen.append(RunReader(tmp_path / "run.jdw", Budget()).read().state["is_over"])

    def recorded_by(*args: Any):
        made.append(begun(*args))
        return made[-1]

    begun = recorder.Recorder
    monkeypatch.setattr(recorder, "Recorder", recorded_by)
    monkeypatch.setattr(writer.RunWriter, "seal", sealed)
    monkeypatch.setattr(recorder, "_PART_ROWS", 10)
    monkeypatch.setattr(recorder, "_PAUSE_S", 1000.0)
    with jdw.capture(record=tmp_path / "run.jdw"):
        steps(30)
        jax.effects_barrier()
        made[0]._wake.set()
        until(lambda: seen)
        assert not any(seen)


def test_the_state_of_a_run_is_over_only_when_all_its_events_are_written(tmp_path, monkeypatch):
    finish, made = recorder.Recorder.finish, []
    monkeypatch.setattr(recorder.Recorder, "finish", lambda own: made.insert(0, own))
    with jdw.capture(record=tmp_path / "run.jdw") as run:
        steps(5)
        until((tmp_path / "run.jdw/p00000/state.json").exists)
    until(lambda: made and run.is_over())
    threading.Event().wait(0.3)  # This is enough for some thirty writes of the state.
    assert not RunReader(tmp_path / "run.jdw", Budget()).read().state["is_over"]
    finish(made[0])
    assert jdw.load(tmp_path / "run.jdw").is_complete


def test_a_run_that_is_still_written_says_so(tmp_path):
    with jdw.capture(record=tmp_path / "run.jdw"):
        steps(5)
        until(lambda: recorded(tmp_path / "run.jdw") == 5)
        loaded = jdw.load(tmp_path / "run.jdw")
        assert loaded.status().state == "loaded" and "Still being written, by process" in loaded.notes[-1]
        assert loaded.goes_on and "— loaded while it was running after" in loaded.panel.bundle()["text/plain"]


def test_arrays_of_zeros_pack_well_and_are_read_again(tmp_path):
    program = jax.jit(lambda x: jax.debug.callback(lambda _: None, x))
    with jdw.capture(record=tmp_path / "run.jdw", title="zeros") as run:
        for _ in range(16):
            program(jnp.zeros(1 << 18))
    loaded = jdw.load(tmp_path / "run.jdw")
    assert_same_events(run.events, loaded.events)
    assert sum(file.stat().st_size for file in tmp_path.rglob("arrays/*")) < 200_000


def test_a_recorded_run_notes_events_that_came_faster_than_memory_holds(tmp_path, monkeypatch):
    monkeypatch.setattr(recorder, "_PAUSE_S", 1000.0)
    program = jax.jit(lambda x: jax.debug.callback(lambda _: None, x))
    with jdw.capture(record=tmp_path / "run.jdw", max_mb=0.5):
        for i in range(40):
            program(jnp.full(1 << 16, i))
    loaded = jdw.load(tmp_path / "run.jdw")
    lost = 40 - len(loaded.events)
    assert lost > 0 and any(f"{lost} events came faster than memory holds" in note for note in loaded.notes)


def test_a_process_that_was_killed_while_numba_compiled_no_longer_says_that_it_does(tmp_path):
    with jdw.capture(record=tmp_path / "run.jdw"):
        jax.jit(lambda x: jax.debug.print("{x}", x=x))(1.0)
    state = tmp_path / "run.jdw" / "p00000" / "state.json"
    told = json.loads(state.read_text()) | {"is_over": False}
    told["status"]["notes"] = ["it was noted", NUMBA_COMPILES]
    state.write_text(json.dumps(told))
    about = state.parent / "process.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"pid": 2**22 + 1}))  # There is no such process.
    notes = jdw.load(tmp_path / "run.jdw").notes
    assert "it was noted" in notes and NUMBA_COMPILES not in notes


@pytest.mark.parametrize("case", ["another thread makes the folder", "a link to nothing"])
def test_a_folder_that_appears_while_a_run_begins_leaves_another_name_for_the_run(tmp_path, monkeypatch, case):
    path = tmp_path / "run.jdw"
    if case == "a link to nothing":
        path.symlink_to(tmp_path / "nothing")
    else:
        with jdw.capture(record=path):
            jax.jit(lambda x: jax.debug.print("{}", x))(1)
        monkeypatch.setattr(Path, "exists", lambda self: self.name != "p00000" and os.path.exists(self))
    with jdw.capture(record=path):
        jax.jit(lambda x: jax.debug.print("{}", x))(2)
    monkeypatch.undo()
    assert [event.text for event in jdw.load(tmp_path / "run-2.jdw").events] == ["2"]
