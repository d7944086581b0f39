"""Write exceptions in a line."""

from __future__ import annotations

import re

_PROGRAM = re.compile(r" \[executable_name='[^']*'\]$")
"""The pattern of the text that XLA adds on a GPU after the last line of a callback's exception."""


def error_line(error: BaseException) -> str:
    """Return the type of an exception and the first line of its message: `ValueError: no such key`.

    XLA's error about a callback contains the callback's whole traceback. Then the line is about the callback's exception.
    """
    first, *more = _PROGRAM.sub("", str(error).strip()).splitlines() or [""]
    if "Traceback (most recent call last)" in first:
        after_frames = (line.rstrip(": ") for line in more if line and not line.startswith(" "))
        return next(after_frames, type(error).__name__)
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
