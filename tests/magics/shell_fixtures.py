"""Define the fixtures of a shell, for folders with tests that run cells."""

from __future__ import annotations

import pytest

from tests.magics.shells import shell


@pytest.fixture(scope="module")
def _shell():
    with shell() as one:
        yield one


@pytest.fixture
def ours(_shell):
    """Return a shell with the extension and a fresh namespace."""
    _shell.start_anew()
    return _shell
