"""Wait for what no one announces."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 60
"""Seconds after which something that must happen has not."""


def until(condition: Callable[[], Any]) -> Any:
    """Look again and again, as the panel does; give what is found."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)
    return found
