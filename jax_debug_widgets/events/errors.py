"""Exceptions as people read them in a line."""

from __future__ import annotations

import re

_PROGRAM = re.compile(r" \[executable_name='[^']*'\]$")
"""What XLA adds on a GPU, after the last line of what a callback raised."""


def error_line(error: BaseException) -> str:
    """The type of an exception and the first line of what it says: `ValueError: no such key`.

    XLA tells an exception of a callback as its whole traceback: then the same, of that exception.
    """
    first, *more = _PROGRAM.sub("", str(error).strip()).splitlines() or [""]
    if "Traceback (most recent call last)" in first:
        after_frames = (line.rstrip(": ") for line in more if line and not line.startswith(" "))
        return next(after_frames, type(error).__name__)
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
