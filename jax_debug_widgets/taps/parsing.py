"""Parse Python's source while other threads do."""

from __future__ import annotations

import ast
import threading

_TRIES = 5

_one_by_one = threading.RLock()
"""Not a plain lock: the garbage collector may run what parses in the thread that does."""


def parse(text: str) -> ast.Module:
    """Parse as `ast.parse` does.

    Raises:
      SyntaxError: whatever is wrong. In Python 3.11 threads that parse at once disturb each other (`SystemError: AST
        constructor recursion depth mismatch`). Ours do so one after the other; where others do, it is tried again.
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
    """Parse an expression as `parse` does; it may go on over several lines.

    Raises:
      SyntaxError: see `parse`; or it is none.
    """
    match parse(text).body:
        case [ast.Expr(value)]:
            return value
    msg = "no expression"
    raise SyntaxError(msg)
