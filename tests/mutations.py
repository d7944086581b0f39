"""Break the package in 20 places, one after the other, and check that the tests notice: `python -m tests.mutations`.

Run it after tests were made fewer or cheaper. Each mutation is put into a copy of the package, where the test files that
should find it run. `python -m tests.mutations store taps` tries those whose file has one of these words in its path.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = "jax_debug_widgets"
PATIENCE_S = 900
FAILED = 1
"""The exit status of pytest after some tests failed."""


class Mutation(NamedTuple):
    """A change to the package: in `file`, `old` becomes `new`.

    The tests at `tests`, a path below `tests`, should fail then.
    """

    file: str
    old: str
    new: str
    tests: str


MUTATIONS = (
    Mutation("watch/choosing/condition.py", "jnp.any(jnp.asarray(", "jnp.all(jnp.asarray(", "watch/test_conditions.py"),
    Mutation("_jax/passes/sampling.py", "(number < every)", "(number <= every)", "watch/test_sampling.py"),
    Mutation(
        "_jax/passes/out_of_bounds.py",
        "array.aval.shape[axis] - sizes[axis] for",
        "array.aval.shape[axis] for",
        "checks/test_out_of_bounds.py",
    ),
    Mutation("_jax/tracing/marks.py", "of=replace(of, is_cotangent=True)", "of=of", "watch/test_cotangents.py"),
    Mutation(
        "_jax/origins/lanes.py",
        "(*outer, *(rest[axis] for axis in inner))",
        "outer",
        "watch/test_nested_lanes.py",
    ),
    Mutation(
        "_jax/running/backlog.py",
        "max(over_ns, self._reported_ns + 1 + len(handed.reporting.lines))",
        "over_ns",
        "_jax/test_backlog.py",
    ),
    Mutation(
        "store/ordinals.py",
        "fired[int(calls[0])] = before + len(calls)",
        "fired[int(calls[0])] = len(calls)",
        "store/test_ordinals.py",
    ),
    Mutation("store/budget.py", "max(self.nbytes - kept,", "max(self.nbytes,", "session/test_much.py"),
    Mutation("transport/columns.py", "padding = -len(data) % ALIGNMENT", "padding = 0", "transport/test_wire.py"),
    Mutation("taps/text.py", "static.get(position) for", "None for", "taps/test_text.py"),
    Mutation("session/call_serializer.py", "(alone or not is_own)", "not is_own", "session/test_call_serializer.py"),
    Mutation(
        "checks/key_calls.py",
        "own = {next(uses.clones)}",
        "pass",
        "checks/test_key_calls.py",
    ),
    Mutation("checks/rewrite/branches.py", "len(then) > 1 and", "len(then) > 2 and", "checks/test_rewrite.py"),
    Mutation("archive/checksums.py", "wanted is None or", "True or", "archive/test_format.py"),
    Mutation("graphs/pairing.py", "bisect_left(tails, other)", "len(tails)", "graphs/test_diff.py"),
    Mutation("breakpoints/stop_queue.py", "policy.passing = scene.site", "pass", "breakpoints/test_stop.py"),
    Mutation("breakpoints/expressions.py", "bool(np.any(", "bool(np.all(", "breakpoints/test_break_on.py"),
    Mutation(
        "magics/options.py",
        "watch.by_lane(names) if watch and everything and names else watch",
        "watch",
        "magics/test_magics.py",
    ),
    Mutation("plots/series.py", "(band and flat.shape[1] > 1)", "False", "plots/test_series.py"),
    Mutation("widgets/intake.py", "self._takers.pop(comm_id, None)", "pass", "widgets/test_intake.py"),
)


def text_with(mutation: Mutation, folder: Path = ROOT) -> str:
    """Return the text of the file with the mutation.

    Raises:
      ValueError: the text to change is not there, or there more than once.
    """
    text = (folder / PACKAGE / mutation.file).read_text("utf-8")
    if text.count(mutation.old) != 1:
        raise ValueError(f"{mutation.file} has {mutation.old!r} {text.count(mutation.old)} times")
    return text.replace(mutation.old, mutation.new)


def copied(folder: Path) -> None:
    """Copy the files that the tests read."""
    for name in (PACKAGE, "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("labextension"))
    for name in ("pyproject.toml", "js", "docs", "notebooks"):
        (folder / name).symlink_to(ROOT / name)


def outcome(mutation: Mutation, folder: Path) -> str:
    """Run the tests with a mutation; return `found`, `not found`, or why that is unknown."""
    file = folder / PACKAGE / mutation.file
    before = file.read_text("utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"tests/{mutation.tests}"]
    try:
        file.write_text(text_with(mutation, folder), "utf-8")
        environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    except ValueError as error:
        return f"text no longer there: {error}"
    except subprocess.TimeoutExpired:
        return "found: the tests did not end"
    finally:
        file.write_text(before, "utf-8")
    if done.returncode in (0, FAILED):
        return "found" if done.returncode else "not found"
    return f"the tests did not run: {done.stdout[-1000:]}"


def main(words: list[str]) -> int:
    """Try the mutations; return how many were not found."""
    left = 0
    with tempfile.TemporaryDirectory() as name:
        copied(Path(name))
        for mutation in MUTATIONS:
            if not words or any(word in mutation.file for word in words):
                said = outcome(mutation, Path(name))
                left += not said.startswith("found")
                print(f"{mutation.file}: {mutation.old!r} -> {mutation.new!r}: {said}", flush=True)
    return left


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
