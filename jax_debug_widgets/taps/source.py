"""Read the source text of a debugging call: its line, and the expressions that it passes."""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass

from jax_debug_widgets.taps.parsing import parse, parse_expression

_OPTIONS = frozenset({"ordered", "partitioned", "skip_format_check", "_use_logging"})
"""Keywords of `jax.debug.print` and `jax.debug.callback` that are options, not values."""


@dataclass(frozen=True)
class CallText:
    """A call as written in the source.

    Attributes:
      line: its first line.
      positional: the source of each positional argument after the first.
      keywords: keyword -> source of its value, without the options.
      first: the source of the first argument, which is the format or the callback.
    """

    line: str
    positional: tuple[str, ...]
    keywords: dict[str, str]
    first: str = ""


def call_text(file: str, line: int, column: int, end_line: int, end_column: int) -> CallText:
    """Read the call that spans this range (columns in UTF-8 bytes, from 0, as the interpreter counts them).

    The arguments are empty if the source is not available, or the range is not a call.
    """
    lines = linecache.getlines(file)
    if not 1 <= line <= len(lines):
        return CallText("", (), {})
    first = lines[line - 1].strip()
    call = _parse_call(_segment(lines, line, column, end_line, end_column))
    if call is None:
        return CallText(first, (), {})
    node, text = call
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        return CallText(first, (), {})
    return CallText(
        first,
        tuple(_one_line(_written(text, argument)) for argument in node.args[1:]),
        {
            keyword.arg: _one_line(_written(text, keyword.value))
            for keyword in node.keywords
            if keyword.arg is not None and keyword.arg not in _OPTIONS
        },
        _one_line(_written(text, node.args[0])) if node.args else "",
    )


def is_statement(file: str, line: int, column: int, end_line: int, end_column: int) -> bool:
    """Whether the call that spans this range is a statement, so that nothing uses its result. False if that is not known."""
    try:
        tree = parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return False
    span = (line, column, end_line, end_column)
    statements = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    return any((one.lineno, one.col_offset, one.end_lineno, one.end_col_offset) == span for one in statements)


def _segment(lines: list[str], line: int, column: int, end_line: int, end_column: int) -> str:
    """Return the text of the range; the whole lines if a column is unknown."""
    chosen = [text.encode() for text in lines[line - 1 : end_line]]
    if chosen and column >= 0 and end_column >= 0:
        chosen[-1] = chosen[-1][:end_column]
        chosen[0] = chosen[0][column:]
    return b"".join(chosen).decode(errors="replace").strip()


def _parse_call(text: str) -> tuple[ast.Call, str] | None:
    # In parentheses, so that the indentation of continuation lines does not matter.
    text = f"({text}\n)"
    try:
        node = parse_expression(text)
    except SyntaxError:
        return None
    return (node, text) if isinstance(node, ast.Call) else None


def _written(text: str, node: ast.expr) -> str | None:
    if node.lineno == node.end_lineno == 1:  # The usual case; `ast.get_source_segment` splits the whole text each time.
        return text.partition("\n")[0].encode()[node.col_offset : node.end_col_offset].decode()
    return ast.get_source_segment(text, node)


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())
