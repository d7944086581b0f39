"""Define shells for the tests of the magics."""

from __future__ import annotations

import pytest

from tests.magics.shells import shell


@pytest.fixture(scope="module")
def _shell():
    with shell() as one:
        yield one


@pytest.fixture
def ours(_shell):
    """Return a shell with the extension and a fresh namespace, and without a capture."""
    _shell.start_anew()
    yield _shell
    if _shell.ip._jax_debug_widgets.cells.lasting is not None:
        _shell.run("%jaxdebug off")


@pytest.fixture
def plain():
    """Return a shell without the extension."""
    with shell(extension=False) as one:
        yield one
