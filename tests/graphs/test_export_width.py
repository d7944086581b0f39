"""G4: test that an export with 64-bit numbers has them in every process, whatever `jax_enable_x64` is there."""

from __future__ import annotations

import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

import jax_debug_widgets as jdw
from tests.graphs.exports import text_in


def wide(x, n):
    table = jnp.arange(3.0) / 7
    noise = jax.random.normal(jax.random.key(0), (3,))
    return jnp.sum(x**2) * 1e-300, x * table + noise, x.astype(jnp.int64) + 2**40 + n


def within(x, n):
    with jax.enable_x64(True):
        y = x.astype(jnp.float64) / 7
        return jnp.sum(y**2), y.astype(jnp.float32), x * n


@pytest.mark.behaviour("G4")
@pytest.mark.parametrize(("function", "is_on"), [(wide, True), (within, False)], ids=["process", "function"])
def test_a_written_program_has_64_bits_in_a_process_that_did_not_ask_for_them(function, is_on, tmp_path):
    with jax.enable_x64(is_on):
        x = jnp.arange(3.0) + 0.1
        assert x.dtype == ("float64" if is_on else "float32")
        written = jdw.to_folder(function, x, 3, path=tmp_path / "written")
        written.check()
        assert written.is_same, written.difference
    assert not jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]
    assert ("@in_64_bits" in text_in(written.path)) is not is_on
    run = subprocess.run(
        [sys.executable, str(written.path / "test_program.py")], capture_output=True, text=True, check=False
    )
    assert "3 results, equal to the bit" in run.stdout, run.stderr
