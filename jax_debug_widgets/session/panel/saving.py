"""Decide when to write the output of a run that goes on, so that a notebook saved during the run has it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.run import Run

_FIRST_S, _LONGEST_S = 1.0, 10.0
"""Seconds from the begin of a run to the first write, and the longest pause. Each pause is twice the one before."""

_SHARE = 1 / 50
"""The largest share of time spent on writing. A run with many events takes long."""


class Saving:
    """Decides when the output is due, by what the last write took."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._pause = _FIRST_S
        self._last = time.monotonic()
        self._began = 0.0
        self._written: object = None

    def is_due(self) -> bool:
        """Whether the output is old, and the pause is over. Call it often."""
        return time.monotonic() - self._last >= self._pause and self._state() != self._written

    def begin(self) -> None:
        """Note that the output is being written."""
        self._began, self._written = time.monotonic(), self._state()

    def end(self) -> None:
        """Note that the output was written."""
        self._last = time.monotonic()
        self._pause = max(min(2 * self._pause, _LONGEST_S), (self._last - self._began) / _SHARE)

    def _state(self) -> object:
        return len(self._run.store), self._run.call_log.newest, self._run.life.has_returned
