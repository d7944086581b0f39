"""Hold an exception with the user's statement that raised it, and the parts of its explanation."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.checks.statement import PlacedStatement


@dataclass(frozen=True)
class Raised:
    """An exception, with the innermost frame of the user's that it passed through.

    Attributes:
      error: the exception.
      place: the statement in that frame that raised it.
      failing: the part of the statement that was being computed; the whole statement if that is not known.
      names: the local and global variables of the frame.
      name_file: returns the name of a file for people.
    """

    error: BaseException
    place: PlacedStatement
    failing: ast.AST
    names: Mapping[str, Any]
    name_file: Callable[[str], str]

    @property
    def text(self) -> str:
        """The message."""
        return str(self.error)

    @property
    def statement(self) -> ast.stmt:
        """The statement that raised it."""
        return self.place.statement


@dataclass(frozen=True)
class TextParts:
    """The parts that fill in the texts of a kind.

    Attributes:
      kind: the kind of the finding.
      fix: the lines to write instead; None or empty if no rewrite is certain.
      names: the text for `{names}` in the headline.
      advice: the advice; empty for the advice of the kind.
    """

    kind: Kind
    fix: list[str] | None = None
    names: str = ""
    advice: str = ""


def head(statement: ast.stmt) -> ast.stmt | ast.expr:
    """Return the part of a statement to show: for a compound statement its head."""
    if isinstance(statement, ast.If | ast.While):
        return statement.test
    if isinstance(statement, ast.Match):
        return statement.subject
    return statement.iter if isinstance(statement, ast.For) else statement
