"""Test the public names of `jax_debug_widgets`."""

from __future__ import annotations

import subprocess
import sys

import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets import session


def test_only_public_names_are_listed():
    names = {name for name in dir(jdw) if not name.startswith("__")}
    assert names == set(jdw.__all__)
    assert all(hasattr(jdw, name) for name in jdw.__all__)


def test_last_is_the_run_of_the_last_capture(monkeypatch):
    with jdw.capture(title="first"):
        pass
    with jdw.capture(title="second") as run:
        assert jdw.last() is run
    assert jdw.last() is run
    monkeypatch.setattr(session, "current_session", session.Session)
    with pytest.raises(LookupError, match="nothing has been captured yet"):
        jdw.last()


def test_listing_the_names_loads_nothing():
    code = "import sys, jax_debug_widgets as jdw; dir(jdw); assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
