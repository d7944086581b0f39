"""A run that another process writes, while it does."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.session import current_session
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


def test_a_job_that_dies_is_said_to_be_gone(job, tmp_path):
    run = jdw.load(tmp_path / "run.jdw", follow=True)
    go_on(job)
    until(lambda: len(run.events) == 200)
    job.send_signal(signal.SIGKILL)
    job.wait(20)
    until(lambda: run.status().state == "interrupted")
    assert len(run.events) == 200 and "The recording has no end" in run.notes[-1]
