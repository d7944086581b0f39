"""Test a job of which one process is killed: the events of both are kept, and the run names the killed process."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.archive.layout import RunFileError
from jax_debug_widgets.archive.reader import RunReader
from jax_debug_widgets.store import Budget
from tests.waiting import until

pytestmark = pytest.mark.cpu("starts processes that choose their own devices")

JOB = """
import sys, jax, numpy as np, jax_debug_widgets as jdw
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
from jax_debug_widgets.session import recorder
recorder._PAUSE_S = recorder._STATE_S = 0.02
for name, value in (("platforms", "cpu"), ("num_cpu_devices", 2), ("cpu_collectives_implementation", "gloo")):
    jax.config.update(f"jax_{name}", value)
jax.distributed.initialize(f"127.0.0.1:{sys.argv[2]}", 2, int(sys.argv[1]))
mesh = jax.make_mesh((4,), ("d",), axis_types=(AxisType.Auto,))
x = jax.make_array_from_callback((4,), NamedSharding(mesh, P("d")), lambda index: np.arange(4.0, dtype=np.float32)[index])

def shard(block):
    jax.debug.print("block {block}", block=block.sum())
    return jax.lax.psum(block.sum(), "d")

step = jax.jit(jax.shard_map(shard, mesh=mesh, in_specs=P("d"), out_specs=P()))
with jdw.capture(record=sys.argv[3]):
    for line in sys.stdin:
        step(x).block_until_ready()
"""


@pytest.fixture
def job(tmp_path):
    """Start two processes that make a call for each line they are given."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-c", JOB]
    processes = [
        subprocess.Popen([*command, str(own), port, str(tmp_path / "run.jdw")], stdin=subprocess.PIPE, text=True)
        for own in range(2)
    ]
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


def call(process):
    process.stdin.write("call\n")
    process.stdin.flush()


def calls_of(folder, process):
    """Return the numbers of the calls that a process has written, and the number of its events."""
    try:
        found = RunReader(folder, Budget(), process).read()
    except RunFileError:
        return [], 0
    return [one.id for one in found.calls], len(found.store)


@pytest.mark.behaviour("R6")
@pytest.mark.behaviour("W6")
def test_a_run_of_a_job_says_which_process_was_killed(job, tmp_path):
    folder = tmp_path / "run.jdw"
    for _ in range(2):
        for process in job:
            call(process)
    for own in range(2):
        until(lambda own=own: calls_of(folder, own) == ([0, 1], 4))
    job[1].send_signal(signal.SIGKILL)
    job[1].wait()
    call(job[0])
    until(lambda: calls_of(folder, 0)[0] == [0, 1, 2])
    assert job[0].poll() is None, "process 0 waits in the collective"
    run = jdw.load(folder)
    assert [len([event for event in one.events if event.call < 2]) for one in run.processes] == [4, 4]
    assert {(event.process, event.device) for event in run.events} == {
        (0, "cpu:0"),
        (0, "cpu:1"),
        (1, "cpu:2048"),
        (1, "cpu:2049"),
    }
    told = " ".join(run.notes)
    assert "Process 1 is gone; its last call is 1 `shard` (done); its last event: block" in told
    assert "Process 1 has not made call 2 `shard`" in told
    barrier, (first, second) = run.status().barrier, run.status().processes
    assert barrier.state == "pending" and not first.sign and second.sign == "is gone"
