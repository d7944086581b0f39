"""Test the command for a machine with a GPU, without a GPU: its report has the outcomes of the tests."""

from __future__ import annotations

import configparser
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.gpu import __main__ as command
from tests.gpu.__main__ import arguments
from tests.gpu.report import report_of, text_of

ROOT = Path(__file__).parents[2]

TESTS = """
import time
import pytest
from tests.gpu import recorder

def test_fails():
    assert 1 == 2, "as it should"

@pytest.mark.skip("for a reason")
def test_is_skipped(): ...

@pytest.fixture
def shortly(monkeypatch):
    monkeypatch.setattr(recorder, "LIMIT_S", 0.1)

def test_takes_too_long(shortly):
    time.sleep(60)
"""


def test_the_report_has_the_outcomes_of_tests(tmp_path):
    own = tmp_path / "test_own.py"
    own.write_text(TESTS)
    command = [sys.executable, "-m", "tests.gpu", "--no-costs", "--workers", "1", "--out", str(tmp_path)]
    run = subprocess.run(
        [*command, "tests/taps/test_lanes.py::test_a_vmap_over_zero_lanes_has_no_event", str(own)],
        cwd=ROOT,
        env={**os.environ, "JDW_PLATFORM": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1, run.stderr
    report = json.loads((tmp_path / "gpu-report.json").read_text())
    tests = report["tests"]
    assert (tests["passed"], tests["failed"], tests["skipped"], tests["not run"]) == (1, 2, 1, 0)
    assert tests["skipped because"] == {"Skipped: for a reason": 1}
    fails, takes_too_long = report["failures"]
    assert "as it should" in fails["why"]
    assert "takes more than 0.1 s" in takes_too_long["why"]
    assert "(cpu)" in report["device"]
    assert "jax" in report["versions"]
    told = (tmp_path / "gpu-report.md").read_text()
    assert "1 passed, 2 failed, 1 skipped, 0 not run, 4 collected" in told
    assert "test_fails`: AssertionError: as it should" in told


def test_what_crashes_or_hangs_is_reported_and_the_rest_is_measured(monkeypatch, tmp_path):
    programs = {"fails": "raise SystemExit(3)", "hangs": "import time; time.sleep(60)", "dies": "import os; os.abort()"}
    monkeypatch.setattr(command, "COSTS", (*programs, "works"))
    lines, run = tmp_path / "costs.jsonl", command.run

    def run_instead(asked, seconds):
        code = programs.get(asked[-1], f"open({str(lines)!r}, 'a').write('{{}}')")
        return run(["-c", code], min(seconds, 3))

    monkeypatch.setattr(command, "run", run_instead)
    told = command.costs(100, lines)
    assert "ended with 3" in told[0]
    assert "was ended after 3 s" in told[1]
    assert "ended with -6" in told[2]
    assert told[3] == ""
    assert lines.read_text() == "{}"
    assert command.costs(0, lines)[-1] == "works was not measured: there was no time left"


@pytest.mark.parametrize(
    ("code", "why"), [("print(", "SyntaxError"), ("import time; time.sleep(60)", "did not start within 2 s")]
)
def test_a_device_that_does_not_start_ends_the_command(monkeypatch, code, why):
    started = subprocess.run
    monkeypatch.setattr(command, "STARTING_S", 2)
    monkeypatch.setattr(
        command.subprocess, "run", lambda _, **options: started([sys.executable, "-c", code], **options)
    )
    assert why in command.environment()
    (note,) = command.kernels()
    assert note.startswith("kernels: it ")
    assert why in note


def test_without_a_gpu_the_command_refuses(monkeypatch):
    monkeypatch.setenv("JDW_PLATFORM", "gpu")
    told = str(command.environment())
    assert told.startswith("device: it ended with 1")
    assert "JAX finds no device for JDW_PLATFORM=gpu" in told or "cuda" in told


def test_the_report_says_which_kernels_run():
    environment = {**os.environ, "JDW_PLATFORM": "cpu"}
    asked = [sys.executable, "-m", "tests.gpu.environment", "kernels"]
    told = subprocess.run(asked, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    found = json.loads(told.splitlines()[-1])
    assert found["statistics"] == "not used", "this is no GPU"
    assert found["rings"].startswith("CUDA cannot be used") or found["rings"] == "not used"


def test_costs_of_loops_and_notes_are_in_the_report():
    costs = [
        {"program": "a loop", "kind": "a print", "ms": 0.01, "ratio": 2.0, "first": 0.1, "us": 3.75, "notes": ["once"]}
    ]
    text = text_of(report_of({}, [], [*costs, *costs]))
    assert "| a loop | a print | 0.01 | 2.000 | 0.1 | 3.8 |" in text
    assert text.count("- noted: once") == 1


def test_the_command_runs_all_suitable_tests_by_default(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["tests.gpu"])
    assert "tests/watch" in arguments().tests
    assert all((ROOT / one).is_dir() for one in arguments().tests)


def test_the_report_has_unfinished_tests_and_costs():
    lines = [
        {"left_out": {"threads": 2}},
        {"collected": 3},
        {"test": "test_a[1]", "outcome": "failed", "why": "E\nmore"},
        {"test": "test_a[2]", "outcome": "failed", "why": "E"},
    ]
    costs = [{"program": "A", "kind": "one large name", "ms": 4.0, "ratio": 1.5, "first": 2.0}]
    text = text_of(report_of({"notes": ["ended after 8 s"]}, lines, costs))
    assert "0 passed, 2 failed, 0 skipped, 1 not run, 3 collected" in text
    assert "- 2 × `test_a`: E\n" in text
    assert "- 2 left out because: threads" in text
    assert "- ended after 8 s" in text
    assert "| A | one large name | 4 | 1.500 | 2.0 |" in text


def test_tests_of_the_cpu_alone_are_left_out_on_other_platforms():
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--collect-only",
        "-p",
        "no:cacheprovider",
        "tests/taps/test_lanes.py",
    ]
    environment = {**os.environ, "JDW_PLATFORM": "another"}
    told = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    assert "(2 deselected)" in told
    assert "test_a_vmapped_print_is_one_host_call" not in told


def test_the_settings_are_those_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "tests/gpu/settings.ini")
    ours = dict(parser["pytest"])
    for name in ("markers", "filterwarnings"):
        assert sorted(ours[name].strip().splitlines()) == sorted(project[name])
    assert set(ours["addopts"].split()) <= set(project["addopts"])


def test_the_requirements_have_all_packages_of_the_kernel_extra():
    names = {
        line.split(">")[0] for line in (ROOT / "tests/gpu/requirements.txt").read_text().splitlines() if ">" in line
    }
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["kernel"]
    assert {line.split(">")[0] for line in extras if not line.startswith("jax-debug")} <= names
