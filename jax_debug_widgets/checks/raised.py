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
    """An exception, with the innermost user frame that it passed through; `failing` is the node that was computed."""

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
class Said:
    """The parts that fill in the texts of a kind."""

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
