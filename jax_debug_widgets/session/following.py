"""Whoever follows a run touches a file in its folder; whoever writes the run looks at that, and then writes more often."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from jax_debug_widgets.archive.layout import FOLLOWED

_TOUCH_S, _GONE_S = 1.0, 5.0
"""Between two touches; and after so long without one nobody follows any more."""

_PAUSE_S = 0.04
"""Seconds between two writes of a run that is followed."""

_SHARE = 1 / 12
"""The largest share of time spent on writing while somebody follows."""


class RunFollower:
    """The reader's side. Where it may not write, the run is written as often as without it."""

    def __init__(self, run: Path) -> None:
        self._file, self._touched = run / FOLLOWED if run.is_dir() else None, float("-inf")

    def tell(self) -> None:
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
    """The writer's side: it sees whether somebody follows the run."""

    def __init__(self, run: Path) -> None:
        self._file = run / FOLLOWED
        self._stamp, self._changed = 0, float("-inf")

    def pause(self, otherwise: float, took: float) -> float:
        """The seconds to wait until the run is written again; `took` are those that the last write took."""
        try:
            stamp = os.stat(self._file).st_mtime_ns
        except OSError:
            return otherwise
        now = time.monotonic()
        if stamp != self._stamp:
            self._stamp, self._changed = stamp, now
        return min(otherwise, max(_PAUSE_S, took / _SHARE)) if now - self._changed < _GONE_S else otherwise
