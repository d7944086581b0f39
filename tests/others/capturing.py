"""A plugin of pytest: each test runs in a capture of its own, as `JAXDEBUG_OTHERS` says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import jax_debug_widgets as jdw

OPTIONS: dict[str, dict[str, Any] | None] = {
    "plain": None,
    "captured": {},
    "watched": {"watch": True},
    "checked": {"check": "all"},
    "nonfinite": {"check": "nonfinite"},
}

FOUND = "findings.txt"
"""The file, in the folder that pytest runs in, with a line for each finding: its kind, and what it says."""


@pytest.fixture(autouse=True)
def capture_of_its_own() -> Iterator[None]:
    """Around a test and its `setUp`; a test that fails does so in the capture, and is told by pytest."""
    options = OPTIONS[os.environ["JAXDEBUG_OTHERS"]]
    if options is None:
        yield
        return
    with jdw.capture(**options) as run:
        yield
    lines = [f"{one.kind}\t{' '.join(one.message.split())}\n" for one in run.findings]
    with Path(FOUND).open("a", encoding="utf-8") as file:
        file.writelines(lines)
