"""Print a table of JAX's and flax's tests: plain, captured, watched, and checked.

Usage: `python -m tests.others FOLDER [FILE …]`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.others.capturing import OPTIONS

FILES = (
    "mutable_array_test.py",
    "hijax_test.py",
    "jaxpr_effects_test.py",
    "export_test.py",
    "errors_test.py",
    "source_info_test.py",
    "aot_test.py",
    "pickle_test.py",
    "api_test.py",
    "nnx/transforms_test.py",
)
"""The files of tests: those of JAX, and the last one of flax."""

REASONS: dict[str, str] = {
    "JaxAotTest.test_with_constants": "it asserts that JAX's C++ dispatches what was compiled ahead of time; a watched program "
    "calls the host, and such programs are dispatched by Python, in plain JAX too",
    "test_hijax_infer_params_cache_hit": "it counts how often JAX traces jitted functions; the statistics of a watched "
    "value are some",
    "test_slicing_with_vjp3": "it asserts that a cotangent is added to a Ref in place; a watched value stands between, so JAX "
    "makes an array of zeros first",
    "TracebackTest": "it counts Python's frames; those of our functions that replace JAX's are among them",
    "test_cpp_jit_raises_on_non_hashable_static_argnum": "its static argument raises in `==`; in a capture JAX compares it one "
    "call earlier, in another cache, whose message has other words",
    "test_jit_cache_clear": "it counts how often JAX traces; the statistics of a watched value are traced with the program",
    "test_nested_jit_hoisting": "it counts equations; those of watched values are some",
    "Remat3Test": "it counts dot products; the gradient of a watched value that nothing else needs is one",
}
"""Part of the name of a test -> why it passes without a capture and fails in one."""

_ROOT = Path(__file__).parent.parent.parent


def outcomes(file: Path, mode: str, chosen: str, seconds: int) -> Mapping[str, str]:
    """Run the tests of a file.

    Returns:
      For each test by its name the first line of its error; an empty string if it has passed.
    """
    with tempfile.TemporaryDirectory() as folder:
        report, found = Path(folder) / "report.xml", Path(folder) / "findings.txt"
        path = os.pathsep.join([str(_ROOT), os.environ.get("PYTHONPATH", "")])
        own = {"JAXDEBUG_OTHERS": mode, "JAXDEBUG_FOUND": str(found), "JAX_PLATFORMS": "cpu", "PYTHONPATH": path}
        command = [
            sys.executable,
            "-m",
            "pytest",
            str(file),
            "-q",
            "-p",
            "tests.others.capturing",
            "-p",
            "no:cacheprovider",
        ]
        command += ["-c", os.devnull, "--rootdir", str(file.parent), f"--junitxml={report}", "-W", "ignore"]
        command += ["-k", chosen] if chosen else []
        try:
            ran = subprocess.run(
                command, cwd=folder, env=os.environ | own, timeout=seconds, capture_output=True, text=True, check=False
            )
        except subprocess.TimeoutExpired:
            return {"the whole file": f"was not over after {seconds} s"}
        if not report.exists():
            return {
                "the whole file": ran.stdout.strip().splitlines()[-1] if ran.stdout.strip() else f"rc {ran.returncode}"
            }
        _print_findings(found)
        return dict(_read(report))


def _print_findings(file: Path) -> None:
    """Print how many findings there are of each kind, and what the first of each says."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    found = [line.partition("\t")[::2] for line in lines]
    for kind, count in Counter(kind for kind, _ in found).most_common():
        first = next(message for one, message in found if one == kind)
        print(f"    {count:>5} × {kind}: {first}")


def _read(report: Path) -> Iterator[tuple[str, str]]:
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest has just written it.
        name = f"{(case.get('classname') or '').rpartition('.')[2]}.{case.get('name')}"
        wrong = [one for one in case if one.tag in ("failure", "error")]
        if wrong:
            lines = (wrong[0].get("message") or wrong[0].text or "").strip().splitlines()
            yield name, lines[0] if lines else wrong[0].tag
        elif case.find("skipped") is None:
            yield name, ""


def reason_of(test: str) -> str:
    """Return why a test fails in a capture; empty if that is a fault of ours."""
    return next((why for part, why in REASONS.items() if part in test), "")


def compare(file: Path, modes: list[str], chosen: str, seconds: int) -> bool:
    """Print the row of a file, and its tests that fail only in a capture.

    Returns:
      Whether there are none; if watched, at most one in a hundred may fail for a known reason.
    """
    plain = {test for test, wrong in outcomes(file, "plain", chosen, seconds).items() if not wrong}
    row, told, is_kept = [f"{file.name:<24}{len(plain):>7}"], [], bool(plain)
    for mode in modes:
        captured = outcomes(file, mode, chosen, seconds)
        failed = sorted(test for test in plain if captured.get(test, "did not run"))
        row.append(f"{len(plain) - len(failed):>10} {1 - len(failed) / max(len(plain), 1):>7.1%}")
        told += [f"    {mode}: {test}: {reason_of(test) or captured.get(test, 'did not run')}" for test in failed]
        unexplained = [test for test in failed if not reason_of(test)]
        allowed = len(plain) // 100 if mode == "watched" else 0
        is_kept &= not unexplained and len(failed) <= allowed
    print("".join(row), *told, sep="\n", flush=True)
    return is_kept


def find(folder: Path, name: str) -> Path | None:
    """Find a file of tests.

    Of several files, return the one beside JAX's `api_test.py`; flax has a `pickle_test.py`, too.
    """
    return max(sorted(folder.rglob(name)), key=lambda file: (file.parent / "api_test.py").exists(), default=None)


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.others", description=__doc__)
    parser.add_argument("folder", type=Path, help="where JAX's and flax's `tests` are, of the installed versions")
    parser.add_argument("files", nargs="*", default=FILES, help="their files; all that are listed where none is given")
    parser.add_argument("-k", dest="chosen", default="", help="some tests, as pytest chooses them")
    parser.add_argument("--modes", nargs="*", default=["captured", "watched", "checked"], choices=OPTIONS)
    parser.add_argument("--seconds", type=int, default=3600, help="for a file in one mode")
    asked = parser.parse_args()
    found = {name: find(asked.folder, name) for name in asked.files}
    for name in (name for name, file in found.items() if file is None):
        print(f"{name}: not found in {asked.folder}")
    print(f"{'passed':<24}{'plain':>7}" + "".join(f"{mode:>18}" for mode in asked.modes))
    kept = [compare(file, asked.modes, asked.chosen, asked.seconds) for file in found.values() if file is not None]
    return 0 if all(kept) and len(kept) == len(asked.files) else 1


sys.exit(main())
