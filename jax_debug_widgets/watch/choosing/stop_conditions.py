"""Hold the conditions that may stop a program, as they are compiled into it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stops:
    """The conditions that may stop a program. Hashable: programs are compiled by it.

    Attributes:
      names: of the values that conditions look at.
      kinds: of `nan` and `inf`, those that are looked for.
      expressions: the conditions that are such.
    """

    names: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    expressions: tuple[str, ...] = ()


NO_STOPS = Stops()

MOST_ELEMENTS = 1 << 20
"""The most elements of a value that is handed over whole: it stays in memory until all of its body is computed. Larger ones
have statistics."""
