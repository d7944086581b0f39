"""Test a run that is read while another process writes it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.archive.layout import PART, RunFileError
from jax_debug_widgets.session import current_session, loading, recorder
from jax_debug_widgets.session.panel.feed import Feed
from jax_debug_widgets.session.run import loaded_notes
from tests.waiting import until

PROGRAM = """
import sys, jax, jax.numpy as jnp, jax_debug_widgets as jdw
from jax_debug_widgets.session import recorder
recorder._PAUSE_S, recorder._PART_ROWS, recorder._STATE_S = 0.005, 150, 0.05

@jax.jit
def step(x, i):
    y = x * i
    jax.debug.print("{i} loss {y}", i=i, y=y.sum())
    return y

with jdw.capture(watch="y", values=True, record=sys.argv[1]) as run:
    for line in sys.stdin:
        for i in range(100):
            step(jnp.ones(30), i)
"""


@pytest.fixture
def job(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(PROGRAM)
    command = [sys.executable, str(script), str(tmp_path / "run.jdw")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)
    until((tmp_path / "run.jdw/run.json").exists)
    with process:
        yield process
        process.kill()


def _parts(folder):
    """The sealed files of events, the oldest first."""
    return sorted(one for one in (folder / "p00000/events").iterdir() if PART.fullmatch(one.name))


def _sealed(folder):
    """The number of the first event that no sealed file has."""
    return max((int(PART.fullmatch(part.name)[2]) for part in _parts(folder)), default=0)


def go_on(job):
    job.stdin.write("go on\n")
    job.stdin.flush()


@pytest.mark.behaviour("R3")
def test_a_job_is_followed_to_its_end(job, tmp_path):
    run = jdw.load(tmp_path / "run.jdw", follow=True)
    panel, feed, counted = run.panel, Feed(run), 0
    for number in range(1, 6):
        go_on(job)
        until(lambda number=number: len(run.events) == 200 * number)
        assert run.status().state == "running" and not [note for note in run.notes if "Numba is compiling" not in note]
        counted += sum(content["count"] for content, _ in feed.news())
        assert counted == len(run.events), "the panel gets each event once"
    assert (tmp_path / "run.jdw/followed").exists(), "the job knows it, and writes more often"
    job.stdin.close()
    assert job.wait(60) == 0
    until(lambda: run.status().state == "done")
    until(lambda: not (tmp_path / "run.jdw/followed").exists())
    assert [event.seq for event in run.events] == list(range(1000)) and run.is_complete
    printed = [event.text.split()[0] for event in run.events if event.kind == "print"]
    assert printed == [str(i) for i in range(100)] * 5 and len(run.calls) == 500
    assert all(call.state == "drained" for call in run.calls)
    assert "done" in panel.bundle()["text/plain"] and run in current_session().runs()


@pytest.mark.behaviour("R3")
def test_the_load_magic_follows_a_run_while_it_is_written(job, tmp_path, ours):
    path = tmp_path / "run.jdw"
    until(lambda: jdw.load(path).goes_on)
    run = ours.run(f"%jaxdebug load {path}").result.result
    go_on(job)
    until(lambda: len(run.events) == 200)
    job.stdin.close()
    assert job.wait(60) == 0
    until(lambda: run.status().state == "done")
    again = ours.run(f"%jaxdebug load {path}").result.result
    assert run.is_followed and not again.is_followed, "what is over is read once"


@pytest.mark.parametrize("is_asked_for", [True, False])
def test_a_job_that_dies_is_reported_as_gone(job, tmp_path, is_asked_for):
    """Also if its parent process, for example a notebook, has not waited for it yet."""
    run = jdw.load(tmp_path / "run.jdw", follow=True)
    go_on(job)
    until(lambda: len(run.events) == 200)
    job.send_signal(signal.SIGKILL)
    if is_asked_for:
        job.wait(20)
    until(lambda: run.status().state == "interrupted")
    assert len(run.events) == 200 and "The recording has no end" in run.notes[-1]


@pytest.mark.parametrize("how", ["moved", "removed"])
def test_a_run_whose_folder_is_gone_is_followed_no_longer(job, tmp_path, how, monkeypatch, caplog):
    monkeypatch.setattr(loading, "_PATIENCE_S", 0.3)
    run = jdw.load(tmp_path / "run.jdw", follow=True)
    go_on(job)
    until(lambda: len(run.events) == 200)
    if how == "moved":
        (tmp_path / "run.jdw").rename(tmp_path / "old.jdw")
    else:
        # The job may write a new file into a folder that is just being removed.
        until(lambda: shutil.rmtree(tmp_path / "run.jdw", ignore_errors=True) or not (tmp_path / "run.jdw").exists())
    assert run.wait(20), "it does not wait for what cannot come"
    assert run.status().state == "interrupted" and len(run.events) == 200 and not run.is_followed
    assert run.notes[-1].startswith(f"No longer followed: {tmp_path / 'run.jdw'} was moved or removed.")
    assert not caplog.records


def test_a_run_whose_first_reading_ends_within_an_event_has_all_events_later(tmp_path):
    folder, copy = tmp_path / "run.jdw", tmp_path / "copy.jdw"

    @jax.jit
    def double(x):
        y = x * 2
        return y + 1

    with jdw.capture(watch="y", values=True, record=folder):
        for number in range(3):
            double(jnp.full(30, number))
            until(lambda number=number: len(jdw.load(folder).events) > number)
        shutil.copytree(folder, copy)
    (arrays,) = (copy / "p00000/arrays").iterdir()
    whole = arrays.read_bytes()
    arrays.write_bytes(whole[: len(whole) * 2 // 3])
    run = jdw.load(copy)
    assert 0 < len(run.events) < 3
    arrays.write_bytes(whole)
    run.follow()
    assert [event.call for event in run.events] == [0, 1, 2]


def test_a_folder_that_is_away_for_a_moment_is_followed_again(job, tmp_path):
    run = jdw.load(tmp_path / "run.jdw", follow=True)
    (tmp_path / "run.jdw/run.json").rename(tmp_path / "run.json")
    threading.Event().wait(0.3)
    (tmp_path / "run.json").rename(tmp_path / "run.jdw/run.json")
    go_on(job)
    until(lambda: len(run.events) == 200)
    assert run.status().state == "running"


def test_a_new_run_in_the_same_folder_is_not_taken_for_the_followed_one(tmp_path):
    step = jax.jit(lambda x: jax.debug.print("{x}", x=x))
    folder = tmp_path / "run.jdw"
    with jdw.capture(record=folder):
        step(1)
        until(lambda: len(jdw.load(folder).events) == 1)
        run = jdw.load(folder)
        folder.rename(tmp_path / "old.jdw")
        with jdw.capture(record=folder):
            step(2)
            step(3)
        with pytest.raises(RunFileError, match="another run"):
            run.follow()
        assert [event.text for event in run.events] == ["1"]


@pytest.mark.parametrize("moment", ["while it is followed", "after its end"])
def test_a_follower_reports_that_another_run_has_taken_the_place(tmp_path, monkeypatch, moment):
    monkeypatch.setattr(loading, "_LOOK_AGAIN_S", 0.01)
    monkeypatch.setattr(loading, "_PATIENCE_S", 0.01)
    step, folder = jax.jit(lambda x: jax.debug.print("{x}", x=x)), tmp_path / "run.jdw"
    with jdw.capture(record=folder):
        step(1)
        until(lambda: len(jdw.load(folder).events) == 1)
        run = jdw.load(folder, follow=True)
        if moment == "while it is followed":
            folder.rename(tmp_path / "old.jdw")
    if moment == "after its end":
        assert run.wait(30)
        shutil.rmtree(folder)
    with jdw.capture(record=folder):
        step(2)
    until(lambda: any("another run now" in note for note in run.notes))
    assert [event.text for event in run.events] == ["1"] and not run.goes_on


FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
"""


@pytest.mark.behaviour("R3")
@pytest.mark.parametrize("full", ["no file may grow", "no space is left"])
def test_a_follower_is_told_that_the_disk_is_full(tmp_path, request, full):
    disk = tmp_path / "disk"
    disk.mkdir()
    if full == "no space is left":
        mount, unmount = shutil.which("mount"), shutil.which("umount")
        small = [mount, "-t", "tmpfs", "-o", "size=300k", "none", disk]
        if not (mount and unmount) or subprocess.run(small, check=False, capture_output=True).returncode:
            pytest.skip("a small disk can only be made by root")
        request.addfinalizer(lambda: subprocess.run([unmount, "-l", disk], check=True))
    script = tmp_path / "train.py"
    script.write_text((FULL if full == "no file may grow" else "") + PROGRAM.replace("_PART_ROWS", "_ROWS"))
    with subprocess.Popen(
        [sys.executable, str(script), str(disk / "run.jdw")], stdin=subprocess.PIPE, text=True
    ) as process:
        until((disk / "run.jdw/run.json").exists)
        run = jdw.load(disk / "run.jdw", follow=True)
        for _ in range(60):
            if not run.goes_on:
                break
            before = len(run.events)
            go_on(process)
            until(lambda before=before: len(run.events) > before or not run.goes_on)  # Little is written at a time.
        assert run.wait(20) and process.poll() is None, "the job goes on"
        why = "File too large" if full == "no file may grow" else "No space left on device"
        told = [note for note in run.notes if note.startswith("Recording stopped at ")]
        assert len(told) == 1 and told[0].endswith(f": {why}. What came later is not in the file.")
        assert len(run.events) > 200 and run.status().state == "interrupted"
        assert why in str(jdw.load(disk / "run.jdw").notes), "also who comes later"
        run.save(tmp_path / "copy.jdw.zip")
        assert why in str(jdw.load(tmp_path / "copy.jdw.zip").notes)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0


def test_a_job_that_writes_nothing_is_reported_as_silent(job, tmp_path, monkeypatch):
    monkeypatch.setattr(loaded_notes, "SILENT_S", 1.0)
    run = jdw.load(tmp_path / "run.jdw", follow=True)
    go_on(job)
    until(lambda: len(run.events) == 200)
    job.send_signal(signal.SIGSTOP)
    until(lambda: any("Nothing has been written since" in note for note in run.notes))
    assert run.status().state == "running" and "may be suspended" in run.notes[-1]
    job.send_signal(signal.SIGCONT)
    until(lambda: not any("Nothing has been written" in note for note in run.notes))


def test_a_missing_last_part_is_noted_with_its_events(tmp_path, monkeypatch):
    monkeypatch.setattr(recorder, "_PART_ROWS", 10)
    folder = tmp_path / "run.jdw"
    step = jax.jit(lambda x: jax.debug.print("{x}", x=x))
    with jdw.capture(record=folder):
        for number in range(10):
            step(number)
        until(lambda: [*(folder / "p00000/events").glob("part-*")])
        for number in range(20):
            step(number)
    run = jdw.load(folder)
    *_, last = sorted((folder / "p00000/events").glob("part-*"))
    first = int(last.name.split("-")[1])
    assert len(run.events) == 30 and 0 < first < 30
    last.unlink()
    lacking = jdw.load(folder)
    assert (len(lacking.events), lacking.dropped) == (first, 30 - first)
    assert [note for note in lacking.notes if note == f"Events {first} to 29 are not in the folder."]


@pytest.mark.parametrize("most_mb", [0.05, None])
def test_a_follower_that_is_too_slow_says_why_events_are_missing(tmp_path, monkeypatch, most_mb):
    monkeypatch.setattr(recorder, "_PAUSE_S", 0.005)
    monkeypatch.setattr(recorder, "_PART_ROWS", 200)
    folder = tmp_path / "run.jdw"
    step = jax.jit(lambda x: jax.debug.print("{x}", x=x))
    with jdw.capture(record=folder, record_max_mb=most_mb):
        for number in range(100):
            step(number)
        until(lambda: len(jdw.load(folder).events) == 100)
        run = jdw.load(folder)
        for written in (900, 1900, 2900):
            for number in range(1000):
                step(number)
            until(lambda written=written: _sealed(folder) >= written)
    if most_mb is None:
        _parts(folder)[1].unlink()
    run.follow()
    (note,) = (note for note in run.notes if "are not in the folder" in note)
    assert run.dropped == 3100 - len(run.events) > 0
    why = "it may have 0.05 MB (record_max_mb), so the oldest events were removed before they were read"
    assert (why in note) == (most_mb is not None)
