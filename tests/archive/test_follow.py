"""A run that another process writes, while it does."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading

import jax
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.archive.layout import RunFileError
from jax_debug_widgets.session import current_session, loading
from jax_debug_widgets.session.panel.feed import Feed
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
def test_what_the_magic_loads_is_followed_while_it_is_written(job, tmp_path, ours):
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
def test_a_job_that_dies_is_said_to_be_gone(job, tmp_path, is_asked_for):
    """Also while the process that started it, as a notebook may, has not asked how it ended."""
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
        shutil.rmtree(tmp_path / "run.jdw", ignore_errors=True)
    assert run.wait(20), "it does not wait for what cannot come"
    assert run.status().state == "interrupted" and len(run.events) == 200 and not run.is_followed
    assert run.notes[-1].startswith(f"No longer followed: {tmp_path / 'run.jdw'} was moved or removed.")
    assert not caplog.records


def test_a_folder_that_is_away_for_a_moment_is_followed_again(job, tmp_path):
    run = jdw.load(tmp_path / "run.jdw", follow=True)
    (tmp_path / "run.jdw/run.json").rename(tmp_path / "run.json")
    threading.Event().wait(0.3)
    (tmp_path / "run.json").rename(tmp_path / "run.jdw/run.json")
    go_on(job)
    until(lambda: len(run.events) == 200)
    assert run.status().state == "running"


def test_another_run_in_the_same_folder_is_not_taken_for_the_followed_one(tmp_path):
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
