"""Define the places at which names are noted: a statement, or the arguments of a call."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

NamePlace = tuple[str, Hashable]
"""A file, and the range of the assigned expression in it; for arguments see `place_of_arguments`."""


def place_of_arguments(file: str, line: int) -> NamePlace:
    """Return the place of the arguments of the function with code that begins at `line`."""
    return file, line


Span = tuple[int, int, int, int]
"""The first line and column, and the last line and column."""


class CallPlace(NamedTuple):
    """The place of the arguments of one call of a function.

    Attributes:
      line: the line at which the code of the function begins.
      callers: file and range of the call, and of the calls around it, innermost first.
    """

    line: int
    callers: tuple[tuple[str, Span], ...]


def is_of_arguments(place: NamePlace) -> bool:
    """Return whether a place is that of arguments, not of a statement that assigns or returns."""
    return isinstance(place[1], int)
