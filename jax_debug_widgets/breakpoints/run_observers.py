"""Decide whether a stop can be answered: by a page, by a prompt, or not at all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

PromptPlace = Literal["panel", "prompt", "nowhere", "job"]
"""Where a breakpoint opens: in the panel, as JAX's own prompt, or not at all.

In a job of several processes no breakpoint opens: the other processes would wait for this one in a collective, and XLA would
end it.
"""

FIRST_PATIENCE = 10.0
"""Seconds that the first stop waits for a page that may still be loading."""

PATIENCE = 3.0
"""Seconds within which a page that has sent a message before must report that it shows a stop."""

UNATTENDED_PATIENCE = 1.0
"""Seconds that the first stop waits where the kernel cannot ask (`allow_stdin` is off: nbclient, nbconvert, papermill)."""

LEASE = 180.0
"""A page counts as closed this number of seconds after its last message. Pages in the background send one a minute."""


@dataclass
class RunObservers:
    """Decides whether a page or a prompt can answer the stops of this process's runs.

    Attributes:
      place: returns where breakpoints open now; called at each breakpoint.
      may_ask: whether the kernel may ask the user for input.
      way: how commands reach the kernel, see `StopBody.way`.
    """

    place: Callable[[], PromptPlace] = lambda: "prompt"
    may_ask: Callable[[], bool] = lambda: True
    way: Callable[[], str] = lambda: "stdin"
    _heard: float | None = None
    _in_vain: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def heard(self) -> None:
        """Note that a page has sent a message."""
        with self._lock:
            self._heard, self._in_vain = time.monotonic(), False

    def unanswered(self) -> None:
        """Note that no page has reported that it shows a stop."""
        with self._lock:
            self._in_vain = True

    @property
    def patience(self) -> float:
        """Seconds to wait for a page to answer a stop; 0 if no page answered the last stop."""
        with self._lock:
            if self._in_vain:
                return 0.0
            if self._heard is not None:
                return PATIENCE
            return FIRST_PATIENCE if self.may_ask() else UNATTENDED_PATIENCE
