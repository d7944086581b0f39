"""Run each test in a capture of its own, as a plugin of pytest.

`JAXDEBUG_OTHERS` sets the kind of capture. `JAXDEBUG_FOUND` is the file to which each finding is written, as a line with its
kind and its text; without it none is.
"""

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


@pytest.fixture(autouse=True)
def capture_of_its_own() -> Iterator[None]:
    """Capture a test and its `setUp`.

    A test fails inside its capture, and pytest reports the failure as usual.
    """
    options = OPTIONS[os.environ["JAXDEBUG_OTHERS"]]
    if options is None:
        yield
        return
    with jdw.capture(**options) as run:
        yield
    if found := os.environ.get("JAXDEBUG_FOUND"):
        lines = [f"{one.kind}\t{' '.join(one.message.split())}\n" for one in run.findings]
        with Path(found).open("a", encoding="utf-8") as file:
            file.writelines(lines)
