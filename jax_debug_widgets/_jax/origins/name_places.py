"""Define the places at which names are noted: a statement, or the arguments of a call."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

NamePlace = tuple[str, Hashable]
"""A file, and what there: the range that computes what is assigned, or see `place_of_arguments`."""


def place_of_arguments(file: str, line: int) -> NamePlace:
    """The place of the arguments of the function whose code begins at `line`."""
    return file, line


Span = tuple[int, int, int, int]
"""First line and column, last line and column."""


class CallPlace(NamedTuple):
    """The place of the arguments of one call of a function.

    Attributes:
      line: the line at which the code of the function begins.
      callers: file and range of the call, and of those around it, innermost first.
    """

    line: int
    callers: tuple[tuple[str, Span], ...]


def is_of_arguments(place: NamePlace) -> bool:
    """Whether arguments are noted there, as opposed to what a statement assigns or returns."""
    return isinstance(place[1], int)
