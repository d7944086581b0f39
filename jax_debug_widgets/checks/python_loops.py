"""Find the lines of a file that are in a loop of Python, and so run several times in one call of their function."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Iterator

Range = tuple[tuple[int, int], tuple[int, int]]


def is_in_loop(file: str, line: int, column: int) -> bool:
    """Return whether a position is in a loop or comprehension of the innermost function around it."""
    loops, functions = _ranges("".join(linecache.getlines(file)))
    here = line, max(column, 0)
    around = max((one for one in functions if _holds(one, here)), default=((0, 0), (0, 0)))
    return any(_holds(one, here) and one > around for one in loops)


def _holds(outer: Range, here: tuple[int, int]) -> bool:
    return outer[0] <= here < outer[1]


@functools.lru_cache(maxsize=16)
def _ranges(text: str) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
    """Return the ranges of all loops, and of all functions."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        return (), ()
    functions = [one for one in nodes if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)]
    return tuple(_repeated(nodes)), tuple(_range(one, one) for one in functions)


def _repeated(nodes: list[ast.AST]) -> Iterator[Range]:
    for node in nodes:
        match node:
            case ast.For(body=[first, *_] as body) | ast.AsyncFor(body=[first, *_] as body):
                yield _range(first, body[-1])
            case ast.While(test=test, body=body):
                yield _range(test, body[-1])
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                yield _range(node, node)


def _range(first: ast.AST, last: ast.AST) -> Range:
    begin = getattr(first, "lineno", 0), getattr(first, "col_offset", 0)
    return begin, (getattr(last, "end_lineno", 0), getattr(last, "end_col_offset", 0))
