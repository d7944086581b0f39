"""Import the fixture of a shell with the extension, and forget loaded runs after each file of tests."""

from __future__ import annotations

import pytest

from jax_debug_widgets.session import current_session
from tests.magics.shell_fixtures import _shell, ours  # noqa: F401 - fixtures.


@pytest.fixture(scope="module", autouse=True)
def _nothing_stays_loaded():
    yield
    loaded = current_session()._runs._loaded
    for key in list(loaded):
        current_session().panels.forget(key)
        del loaded[key]
    current_session()._runs._shelved.clear()
