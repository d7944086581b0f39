"""Numba where its import was broken off before."""

from __future__ import annotations

import subprocess
import sys

import pytest

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


def test_it_is_imported_anew_where_an_import_was_broken_off():
    subprocess.run([sys.executable, "-W", "error", "-c", PROGRAM], check=True, timeout=120)
