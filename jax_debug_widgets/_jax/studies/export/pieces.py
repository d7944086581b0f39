"""Join the lines of equations to those of a function: those that a result needs, each under its line of the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass
class Piece:
    """The lines of one equation.

    Attributes:
      makes: the variables that they compute. `uses`: those that they read.
      keeps: whether they are needed for an effect. `about`: the comment before them.
      refused: why there are no lines; empty if there are.
    """

    lines: list[str]
    makes: set[str]
    uses: set[str]
    keeps: bool
    about: str
    refused: str = ""


def needed(pieces: Sequence[Piece], wanted: set[str]) -> list[Piece]:
    """The pieces that compute the variables `wanted`, or have effects, in their order."""
    kept: list[Piece] = []
    for piece in reversed(pieces):
        if piece.keeps or piece.makes & wanted:
            wanted |= piece.uses
            kept.append(piece)
    return kept[::-1]


def joined(pieces: Sequence[Piece]) -> list[str]:
    """The lines of all pieces, with each comment once."""
    lines: list[str] = []
    last = ""
    for piece in pieces:
        if piece.about and piece.about != last:
            lines.append(piece.about)
            last = piece.about
        lines += piece.lines
    return lines
