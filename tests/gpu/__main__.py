"""Run the tests with a GPU as default device, measure, and write `gpu-report.json` and `gpu-report.md`.

Usage: `python -m tests.gpu [tests]`. It ends within eight minutes, even if something hangs. `JDW_PLATFORM=cpu` runs the
same without a GPU.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection
from importlib import resources
from pathlib import Path
from typing import Any

from tests.gpu.report import lines_in, report_of, text_of

ROOT = Path(__file__).parents[2]

PANEL = Path(str(resources.files("jax_debug_widgets")), "static", "panel.js")
"""The front end, which is in the wheel, and in a checkout after its build."""

ROOMS = [
    f"tests/{room}"
    for room in ["taps", "watch", "breakpoints", "callbacks", "session", "_jax", "checks", "plots", "magics", "widgets"]
]
"""The folders with tests that run JAX programs and need neither JupyterLab nor a browser. What a GPU can break comes first."""

COSTS = ("loops", "A", "C", "B", "F", "G")
"""The programs of `tests.benchmarks.gpu`. Each is measured in a process of its own: one that crashes takes no other with it."""

COSTS_SHARE = 0.45
"""The part of the time that the tables of costs may take."""

STARTING_S = 120
"""The seconds in which JAX must have found the device, and then, our kernels must be compiled."""

ENDING_S = 15
"""How many seconds before the end of the time the last process is ended."""


def arguments() -> argparse.Namespace:
    """Parse the arguments of the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.gpu", description=__doc__)
    parser.add_argument(
        "tests",
        nargs="*",
        default=ROOMS,
        help="files, folders or single tests; all that can run",
    )
    parser.add_argument("--minutes", type=float, default=8, help="when the command has ended at the latest")
    parser.add_argument("--out", type=Path, default=Path(), help="the folder of the report")
    workers = max(1, min(12, (os.cpu_count() or 1) - 2))
    parser.add_argument("--workers", type=int, default=workers, help="processes that run tests")
    parser.add_argument("--no-costs", action="store_true", help="tests only")
    return parser.parse_args()


def run(command: list[str], seconds: float, allowed: Collection[int] = (0,), **environment: str) -> str:
    """Run a part of the command in a process of its own; return what went wrong: it was ended, or crashed. Else empty."""
    with subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, env={**os.environ, **environment}, start_new_session=True
    ) as process:
        try:
            process.wait(max(seconds, 1))
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)  # Kills its workers, too.
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            return f"`{_named(command)}` was ended after {seconds:.0f} s"
    return f"`{_named(command)}` ended with {process.returncode}" if process.returncode not in allowed else ""


def _named(command: list[str]) -> str:
    return " ".join(Path(part).name for part in command[:4])


def costs(seconds: float, lines: Path) -> list[str]:
    """Measure; return what went wrong."""
    over, told = time.monotonic() + seconds, []
    for program in COSTS:
        if over > time.monotonic():
            told.append(run(["-m", "tests.benchmarks.gpu", str(lines), program], over - time.monotonic()))
        else:
            told.append(f"{program} was not measured: there was no time left")
    return told


def environment(ask: str = "device") -> dict[str, Any] | str:
    """Return the versions and the device, or with `kernels` which of ours run there, or what went wrong."""
    command = [sys.executable, "-m", "tests.gpu.environment", ask]
    try:
        found = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=STARTING_S, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return f"{ask}: it did not start within {STARTING_S} s"
    if found.returncode:
        return f"{ask}: it ended with {found.returncode}: {found.stderr[-2000:]}"
    return json.loads(found.stdout.splitlines()[-1])


def kernels() -> list[str]:
    """Return for each kind of our kernels whether they run on the GPU."""
    found = environment("kernels")
    return [found] if isinstance(found, str) else [f"kernels for {name}: {what}" for name, what in found.items()]


def tests(asked: argparse.Namespace, seconds: float, lines: Path) -> str:
    """Run the tests; return why they were ended early."""
    command = ["-m", "pytest", "-q", "-p", "tests.gpu.recorder", "-p", "no:cacheprovider", "--cases", "each"]
    # This plugin warns if several processes run tests, and warnings are errors.
    command += ["-p", "no:benchmark", "-c", "tests/gpu/settings.ini", "--rootdir", ".", "--confcutdir", "."]
    if asked.workers > 1 and importlib.util.find_spec("xdist") is not None:
        command += ["-n", str(asked.workers)]
    # Pytest returns 1 if tests fail.
    return run([*command, *asked.tests], seconds, (0, 1), JDW_GPU_LINES=str(lines))


def main() -> int:
    """Run everything and write the report; return 1 if a test failed or none ran."""
    asked = arguments()
    if not PANEL.is_file():
        sys.stderr.write(f"{PANEL} is not there: tests of what opens a panel would all fail\n")
        return 1
    over = time.monotonic() + 60 * asked.minutes - ENDING_S
    os.environ.setdefault("JDW_PLATFORM", "gpu")
    # Several processes share the GPU, so none may take all of its memory.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    asked.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        lines, costs_lines = Path(folder, "tests.jsonl"), Path(folder, "costs.jsonl")
        found = environment()
        if isinstance(found, str):
            sys.stderr.write(f"{found}\n")
            return 1
        noted = kernels() if os.environ["JDW_PLATFORM"] == "gpu" else []
        wrong = [] if asked.no_costs else costs(COSTS_SHARE * (over - time.monotonic()), costs_lines)
        wrong.append(tests(asked, over - time.monotonic(), lines))
        found["notes"] = [*noted, *filter(None, wrong)]
        report = report_of(found, lines_in(lines), lines_in(costs_lines))
    Path(asked.out, "gpu-report.json").write_text(json.dumps(report, indent=1) + "\n")
    Path(asked.out, "gpu-report.md").write_text(text_of(report))
    sys.stdout.write(text_of(report))
    return 0 if report["tests"].get("passed") and not report["failures"] else 1


if __name__ == "__main__":
    sys.exit(main())
