"""Find the `def` of a function by the first line of its code, which may be that of its first decorator."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Mapping

Definition = ast.FunctionDef | ast.AsyncFunctionDef


def definition_at(file: str, line: int) -> Definition | None:
    """Return the `def` that begins at a line, or has a decorator there; None for a lambda or an unknown source."""
    return _definitions("".join(linecache.getlines(file))).get(line)


def span_of_argument(file: str, line: int, path: str) -> tuple[int, int, int, int]:
    """Return the range of an argument of a function; `path` is the argument or a part of it, such as `p['w']`.

    If the argument is not on the line of the `def`, the range is that line.
    """
    found = definition_at(file, line)
    if found is None:
        return line, -1, line, -1
    given = found.args
    for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
        if one is not None and one.lineno == found.lineno and _name_of(path) == one.arg:
            return one.lineno, one.col_offset, one.lineno, one.col_offset + len(one.arg.encode())
    return found.lineno, -1, found.lineno, -1


def _name_of(path: str) -> str:
    size = next((at for at, letter in enumerate(path) if letter in ".["), len(path))
    return path[:size]


@functools.lru_cache(maxsize=64)
def _definitions(text: str) -> Mapping[int, Definition]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return {}
    functions = (one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
    return {line: one for one in functions for line in (one.lineno, *(each.lineno for each in one.decorator_list))}
