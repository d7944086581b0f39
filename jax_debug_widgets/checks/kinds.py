"""The registry of what the checks find: a new kind is a row here, its texts in `words`, and a file of its own."""

from __future__ import annotations

import enum


class Kind(enum.Enum):
    """A kind of finding.

    Attributes:
      word: how options and filters call it.
      row: its row in docs/behaviours.md.
      severity: 0 an error, 1 a wrong result, 2 lost precision, 3 lost time.
    """

    IN_PLACE = ("in-place", "S5", 0)
    CONTROL_FLOW = ("control-flow", "S9", 0)
    SHAPE = ("shape", "S10", 0)
    LIST = ("list", "S7", 0)
    NUMPY_CALL = ("numpy-call", "S9", 0)
    LEAK = ("leak", "S3", 0)
    DONATED = ("donated", "S5", 0)
    DONATED_TWICE = ("donated-twice", "S5", 0)
    CARRY = ("carry", "S9", 0)
    STALE = ("stale", "S2", 1)
    KEY = ("key", "S8", 1)
    RETRACE = ("retrace", "S14", 3)
    STATIC = ("static", "S14", 0)

    def __init__(self, word: str, row: str, severity: int) -> None:
        self.word, self.row, self.severity = word, row, severity
