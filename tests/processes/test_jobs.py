"""Test two processes with one program: a capture in one does not affect the other, and each records its own part."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.origins import context
from jax_debug_widgets.breakpoints import answers
from jax_debug_widgets.session import Options, current_session
from tests.conftest import mesh

pytestmark = pytest.mark.cpu("starts processes that choose their own devices")

_TIMEOUT_S = 240


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder into which `job.py` records."""
    return tmp_path_factory.mktemp("job") / "run.jdw"


@pytest.fixture(scope="module")
def told(folder):
    """Return what the two processes of `job.py` saw."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = ["timeout", "-k", "5", str(_TIMEOUT_S), sys.executable, str(Path(__file__).with_name("job.py"))]
    jobs = [
        subprocess.Popen(
            [*command, str(own), port, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for own in range(2)
    ]
    written = [job.communicate() for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0], [err[-2000:] for _, err in written]
    return [json.loads(out.splitlines()[-1]) for out, _ in written]


@pytest.mark.parametrize(
    ("case", "result"), [("one watches", 4096), ("other names", 4096), ("one samples", 2480), ("one captures", 364)]
)
def test_processes_that_capture_differently_go_on_with_plain_results(told, case, result):
    assert [process[case]["results"] for process in told] == [[result] * 2] * 2


def test_a_process_that_watches_alone_says_that_it_does_not(told):
    absent, differ = told[0]["one watches"], [process["other names"] for process in told]
    assert not absent["watched"]
    assert "Left out: watch. Process 1 did not reach this capture" in absent["notes"][0]
    assert all(not one["watched"] and "capture with different options" in one["notes"][0] for one in differ)


def test_a_print_is_reported_by_one_process_and_captured_alone_it_has_neither_lanes_nor_phantoms(told):
    sampled, alone = told[0]["one samples"], told[0]["one captures"]
    assert sampled["calls"] == [0] * 4 + [1] * 4
    assert any("Reported by process 0, not here" in note for note in told[1]["one samples"]["notes"])
    assert alone["lanes"] == [[]] * 16
    assert alone["phantoms"] == 0
    assert [note.partition(":")[0] for note in alone["notes"]].count("Left out") == 3


def test_processes_that_capture_alike_have_lanes_phantoms_and_what_they_watch(told):
    lanes, watched = told[0]["lanes"], told[0]["both watch"]
    assert lanes["lanes"] == sorted([[lane] for lane in range(8)] * 3)
    assert lanes["phantoms"] == 9
    assert watched["h"] == [992, 992]
    assert not any("Left out" in note for process in told for note in process["both watch"]["notes"])


def test_each_process_counts_the_firings_of_its_own_devices(told):
    first, second = (process["shards"] for process in told)
    assert first["calls"] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert second["calls"] == [0, 0, 1, 1, 2, 2]
    assert not [*first["findings"], *second["findings"], *first["notes"]]
    assert any(note.startswith("Reported by process 0, not here: job.py") for note in second["notes"])


@pytest.mark.behaviour("R6")
@pytest.mark.behaviour("W6")
def test_a_breakpoint_in_a_job_is_recorded_and_holds_nobody(told):
    for process in told:
        assert process["breakpoints"]["kinds"] == ["breakpoint"]
        (note,) = process["breakpoints"]["notes"]
        assert "skipped once: a stop would leave the other processes of this job waiting" in note


@pytest.mark.behaviour("R6")
@pytest.mark.behaviour("W6")
def test_a_job_is_paused_and_ended_before_the_same_call_in_all_processes(told):
    first, second = (process["stops"] for process in told)
    assert first["stoppable"], "the panel's buttons are not greyed"
    assert first["answers"] == second["answers"] == ["done"]
    assert first["stands"][0] == first["stands"][1] > 1
    assert first["reason"].startswith(f"paused before sharded, call {first['stands'][0]} of this job's programs")
    assert first["frame"] == "stopped"
    assert any(note.startswith("Process 0 has paused the job: this process stopped before") for note in second["notes"])
    assert first["ended"] == second["ended"]
    assert re.match(r"stopped before sharded, call \d+ of this job's programs, in all 2 processes", first["ended"])


def test_a_job_whose_processes_have_not_agreed_says_why_it_is_not_paused(monkeypatch):
    monkeypatch.setattr(answers, "joined", lambda: 2)
    with jdw.capture() as run, pytest.raises(ValueError, match="have not agreed on this capture: a process that stops"):
        answers.answer(current_session().debugger, run.key, 1, {"type": "pause"}, print)


@pytest.mark.behaviour("R6")
@pytest.mark.behaviour("W6")
def test_a_recorded_job_is_one_run_in_the_order_of_one_clock(told, folder):
    assert told
    run = jdw.load(folder)
    assert [one.process for one in run.processes] == [0, 1] and run.is_complete
    assert [sum(event.process == process for event in run.events) for process in (0, 1)] == [16, 12]
    blocks = [event for event in run.events if event.kind == "callback"]
    coordinates = {(event.process, event.mesh_coords["d"]) for event in blocks}
    assert coordinates == {(0, 0), (0, 1), (1, 2), (1, 3)} and len({event.device for event in blocks}) == 4
    ahead = run.processes[1].place
    assert abs(ahead.ahead - 3) < max(20 * ahead.error, 0.2)
    order = [event.process for event in run.events]
    assert order.index(1) < len(order) - 1 - order[::-1].index(0), "they take turns, though a clock is wrong by seconds"
    (found,) = (one for one in run.findings if one.kind == "replicas")
    assert "no longer the same in processes 0 and 1" in found.headline and "equal to the bit 3 times" in found.why
    assert not [one for one in run.findings if one.kind != "replicas"]


def stopping(x):
    return jdw.breakpoint(x * 2, when=x.sum() > 1e9)


def lane(row):
    jax.debug.print("row {} {}", row, row.sum())
    return row * 2


def chosen(row):
    return lax.cond(row.sum() > 5, lane, lambda row: row, row)


def repeated(row):
    return lax.while_loop(lambda c: c[0] < row.sum(), lambda c: (c[0] + 1, lane(c[1])), (jnp.float32(0), row))[1]


_COLLECTIVE = re.compile(r"= (\S+) ((?:all|reduce|collective)-[\w-]+)\(")


def collectives(name):
    """Return the collectives in the program of a function, in order."""
    texts = [one.hlo_modules()[0].to_string() for one in jax.devices()[0].client.live_executables()]
    (text,) = (text for text in texts if text.startswith(f"HloModule jit_{name},"))
    return _COLLECTIVE.findall(text)


@pytest.mark.parametrize("body", [stopping, jax.vmap(lane), jax.vmap(chosen), jax.vmap(repeated)])
def test_a_process_that_captures_alone_compiles_the_collectives_that_jax_compiles(body, monkeypatch, capsys):
    x = jax.device_put(np.arange(32, dtype=np.float32).reshape(8, 4) / 32, NamedSharding(mesh(), P("d")))

    def compiled_plainly(x):
        return body(x) @ jnp.ones((4, 4))

    def compiled_alone(x):
        return body(x) @ jnp.ones((4, 4))

    for one in (compiled_plainly, compiled_alone):  # JAX may keep the executables of the other cases.
        one.__name__ += f"_{body.__name__}"
    programs = jax.jit(compiled_plainly), jax.jit(compiled_alone)
    expected = programs[0](x)
    jax.effects_barrier()
    monkeypatch.setattr(context, "joined", lambda: 2)
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    with current_session().run("alone", Options()):
        np.testing.assert_array_equal(programs[1](x), expected)
    assert collectives(compiled_alone.__name__) == collectives(compiled_plainly.__name__)
    capsys.readouterr()
