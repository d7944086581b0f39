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
from importlib import resources
from pathlib import Path
from typing import Any

from tests.gpu.report import lines_in, report_of, text_of

ROOT = Path(__file__).parents[2]

PANEL = Path(str(resources.files("jax_debug_widgets")), "static", "panel.js")
"""The front end, which is in the wheel, and in a checkout after its build."""

ROOMS = [
    f"tests/{room}"
    for room in ["_jax", "taps", "callbacks", "session", "watch", "breakpoints", "plots", "magics", "widgets", "checks"]
]
"""The folders with tests that run JAX programs and need neither JupyterLab nor a browser."""

COSTS_SHARE = 0.4
"""The part of the time that the tables of costs may take."""

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
    parser.add_argument("--workers", type=int, default=min(8, os.cpu_count() or 1), help="processes that run tests")
    parser.add_argument("--no-costs", action="store_true", help="tests only")
    return parser.parse_args()


def run(command: list[str], seconds: float, **environment: str) -> str:
    """Run a part of the command in a process of its own; return why it was ended, empty if it ended by itself."""
    with subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, env={**os.environ, **environment}, start_new_session=True
    ) as process:
        try:
            process.wait(max(seconds, 1))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # Kills its workers, too.
            return f"`{' '.join(command[:3])}` was ended after {seconds:.0f} s"
    return ""


def tests(asked: argparse.Namespace, seconds: float, lines: Path) -> str:
    """Run the tests; return why they were ended early."""
    command = ["-m", "pytest", "-q", "-p", "tests.gpu.recorder", "-p", "no:cacheprovider", "--cases", "each"]
    # This plugin warns if several processes run tests, and warnings are errors.
    command += ["-p", "no:benchmark", "-c", "tests/gpu/settings.ini", "--rootdir", ".", "--confcutdir", "."]
    if asked.workers > 1 and importlib.util.find_spec("xdist") is not None:
        command += ["-n", str(asked.workers)]
    return run([*command, *asked.tests], seconds, JDW_GPU_LINES=str(lines))


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
        lines, costs = Path(folder, "tests.jsonl"), Path(folder, "costs.jsonl")
        found = subprocess.run(
            [sys.executable, "-m", "tests.gpu.environment"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        if found.returncode:
            sys.stderr.write(found.stderr)
            return 1
        environment: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
        ended = []
        if not asked.no_costs:
            ended.append(run(["-m", "tests.benchmarks.gpu", str(costs)], COSTS_SHARE * (over - time.monotonic())))
        ended.append(tests(asked, over - time.monotonic(), lines))
        environment["notes"] = [why for why in ended if why]
        report = report_of(environment, lines_in(lines), lines_in(costs))
    Path(asked.out, "gpu-report.json").write_text(json.dumps(report, indent=1) + "\n")
    Path(asked.out, "gpu-report.md").write_text(text_of(report))
    sys.stdout.write(text_of(report))
    return 0 if report["tests"].get("passed") and not report["failures"] else 1


if __name__ == "__main__":
    sys.exit(main())
