"""Test a user's own tests under the checks."""

from __future__ import annotations

import subprocess
import sys

TESTS = """
import jax
import jax.numpy as jnp
import pytest
from jax import random


def test_reads_outside():
    assert jax.jit(lambda x, i: x[i])(jnp.arange(3.0), 7) == 2.0


def test_is_fine(capsys):
    jax.jit(lambda x: jax.debug.print("x {x}", x=x))(1.0)
    jax.effects_barrier()
    assert capsys.readouterr().out == "x 1.0\\n"


def test_fails():
    key = random.key(0)
    assert jax.jit(lambda k: random.normal(k) - random.normal(k))(key) == 1.0


def test_raises():
    with pytest.raises(TypeError, match="do not support in-place item assignment|immutable"):
        jnp.zeros(3)[0] = 1.0
"""


def run_pytest(folder, *options: str):
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "jax_debug_widgets.pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        *options,
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_each_test_has_its_findings_and_its_outcome(tmp_path):
    (tmp_path / "test_own.py").write_text(TESTS)
    plain = run_pytest(tmp_path)
    assert "1 failed, 3 passed" in plain.stdout, plain.stdout + plain.stderr
    assert "jax-check" not in plain.stdout
    checked = run_pytest(tmp_path, "--jax-check=oob,nonfinite,keys")
    assert "1 failed, 3 passed" in checked.stdout, checked.stdout + checked.stderr
    summary = checked.stdout.partition("jax-check: findings in 2 tests")[2]
    reads, _, fails = summary.partition("test_own.py::test_fails")
    assert "test_own.py::test_reads_outside" in reads
    assert "oob: test_own.py:9: index 7 is outside axis 0 (size 3)" in reads
    assert "keys: test_own.py:" in fails
    assert "test_is_fine" not in summary.partition("short test summary")[0]


def test_an_unknown_check_is_refused(tmp_path):
    refused = run_pytest(tmp_path, "--jax-check=nosuch")
    assert refused.returncode == 4
    assert "there is no check nosuch; there are all, " in refused.stderr
