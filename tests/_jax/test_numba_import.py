"""The import of Numba, and the stages of a program to which its time belongs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from jax_debug_widgets._jax.compat import native

pytest.importorskip("numba")

PROGRAM = """
import sys
sys.modules["numba.core.decorators"] = None  # The import ends there.
try:
    import numba.core.event
except ImportError:
    pass
assert "numba" not in sys.modules and "numba.core" in sys.modules
del sys.modules["numba.core.decorators"]
from jax_debug_widgets._jax.compat.native import importable
assert importable("jax_debug_widgets.watch.statistics.native", "nothing")
"""


def test_numba_is_imported_again_after_an_interrupted_import():
    subprocess.run([sys.executable, "-W", "error", "-c", PROGRAM], check=True, timeout=120)


def test_the_time_of_a_numba_import_counts_for_the_stage_in_which_it_ended(monkeypatch):
    monkeypatch.setattr(native._waits, "ended", [(3.0, 2.0), (5.0, 0.5)])
    monkeypatch.setattr(native.time, "monotonic", lambda: 10.0)
    assert native.seconds_waited(within=1.0) == 0, "an inner function, traced later, however long it took"
    assert native.seconds_waited(within=6.0) == 0.5
    assert native.seconds_waited(within=9.0) == 2.0
    assert native.seconds_waited(within=9.0) == 0, "it is counted once"
