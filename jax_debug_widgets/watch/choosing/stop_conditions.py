"""Hold the conditions that may stop a program, as they are compiled into it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stops:
    """The conditions that may stop a program. Hashable: it is part of the key of a compiled program.

    Attributes:
      names: the names of the values in the conditions.
      kinds: a subset of `nan` and `inf`.
      expressions: the conditions that are Python expressions.
    """

    names: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    expressions: tuple[str, ...] = ()


NO_STOPS = Stops()

MOST_ELEMENTS = 1 << 20
"""The most elements of a value that is handed over whole. The value stays in memory until its whole body is computed.
For a larger value only its statistics are handed over.
"""
