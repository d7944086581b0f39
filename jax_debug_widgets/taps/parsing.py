"""Parse Python source while other threads parse as well."""

from __future__ import annotations

import ast
import threading

_TRIES = 5

_one_by_one = threading.RLock()
"""Reentrant, because the garbage collector may run code that parses in a thread that is parsing."""


def parse(text: str) -> ast.Module:
    """Parse as `ast.parse` does.

    In Python 3.11, threads that parse at the same time disturb each other (`SystemError: AST constructor recursion depth
    mismatch`). Callers of this function parse one after the other; if other code disturbs them, the function tries again.

    Raises:
      SyntaxError: for every failure, whatever `ast.parse` raises.
    """
    for _ in range(_TRIES):
        try:
            with _one_by_one:
                return ast.parse(text)
        except SystemError:
            continue
        except (ValueError, RecursionError, MemoryError) as error:  # Null bytes; too deep.
            raise SyntaxError(str(error)) from error
    msg = "other threads have parsed at the same time"
    raise SyntaxError(msg)


def parse_expression(text: str) -> ast.expr:
    """Parse a single expression, which may span several lines.

    Raises:
      SyntaxError: see `parse`; or the text is not one expression.
    """
    match parse(text).body:
        case [ast.Expr(value)]:
            return value
    msg = "no expression"
    raise SyntaxError(msg)
