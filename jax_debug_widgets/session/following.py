"""Make the writer of a run write more often while somebody follows the run.

The follower touches a file in the run's folder, and the writer looks at the time of that file.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from jax_debug_widgets.archive.layout import FOLLOWED

_TOUCH_S, _GONE_S = 1.0, 5.0
"""Seconds between two touches; and seconds without a touch after which nobody follows any more."""

_PAUSE_S = 0.04
"""Seconds between two writes of a followed run."""

_SHARE = 1 / 12
"""The largest share of time spent on writing while somebody follows."""


class RunFollower:
    """Touches the file, on the reader's side. Without permission to write, the run is written as often as without a reader."""

    def __init__(self, run: Path) -> None:
        self._file, self._touched = run / FOLLOWED if run.is_dir() else None, float("-inf")

    def touch(self) -> None:
        """Note that somebody still follows the run."""
        now = time.monotonic()
        if self._file is not None and now - self._touched >= _TOUCH_S:
            self._touched = now
            with contextlib.suppress(OSError):
                self._file.touch(mode=0o600)
                os.utime(self._file)

    def end(self) -> None:
        """Note that nobody follows the run any more."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.unlink()


class Followed:
    """Sees whether somebody follows the run, on the writer's side."""

    def __init__(self, run: Path) -> None:
        self._file = run / FOLLOWED
        self._stamp, self._changed = 0, float("-inf")

    def pause(self, otherwise: float, took: float) -> float:
        """Return the seconds until the next write: at most `otherwise`. `took` is the CPU time of a write in seconds."""
        try:
            stamp = os.stat(self._file).st_mtime_ns
        except OSError:
            return otherwise
        now = time.monotonic()
        if stamp != self._stamp:
            self._stamp, self._changed = stamp, now
        return min(otherwise, max(_PAUSE_S, took / _SHARE)) if now - self._changed < _GONE_S else otherwise
