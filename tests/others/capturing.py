"""A plugin of pytest: each test runs in a capture of its own, as `JAXDEBUG_OTHERS` says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

import jax_debug_widgets as jdw

OPTIONS: dict[str, dict[str, Any] | None] = {
    "plain": None,
    "captured": {},
    "watched": {"watch": True},
    "checked": {"check": "all"},
}


@pytest.fixture(autouse=True)
def capture_of_its_own() -> Iterator[None]:
    """Around a test and its `setUp`; a test that fails does so in the capture, and is told by pytest."""
    options = OPTIONS[os.environ["JAXDEBUG_OTHERS"]]
    if options is None:
        yield
        return
    with jdw.capture(**options):
        yield
