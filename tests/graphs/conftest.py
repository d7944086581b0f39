"""Import the shell fixtures for tests of the magics."""

from __future__ import annotations

from tests.magics.shell_fixtures import _shell, ours  # noqa: F401 - fixtures.
