"""Wait for conditions that nothing announces."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 60
"""The most seconds to wait for something that must happen."""


def until(condition: Callable[[], Any]) -> Any:
    """Evaluate a condition repeatedly, as the panel does, until it is true; return its value."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)
    return found
