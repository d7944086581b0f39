"""The fixtures of a shell, for the conftests of the folders whose tests run cells."""

from __future__ import annotations

import pytest

from tests.magics.shells import shell


@pytest.fixture(scope="module")
def _shell():
    with shell() as one:
        yield one


@pytest.fixture
def ours(_shell):
    """A shell with the extension and a fresh namespace."""
    _shell.start_anew()
    return _shell
