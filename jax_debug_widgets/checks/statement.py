"""Find the statement that an error points at."""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass, field


@dataclass(frozen=True)
class PlacedStatement:
    """A statement in a file, and its surroundings.

    Attributes:
      statement: the innermost statement at the position; for a compound statement (`if`, `while`, `for`), the position
        is in its head.
      function: the function around it; None at the level of the module.
      after: the statements that follow in the same block.
    """

    statement: ast.stmt
    function: ast.FunctionDef | ast.AsyncFunctionDef | None = None
    after: tuple[ast.stmt, ...] = field(default=())


def place_at(file: str, line: int, column: int = -1) -> PlacedStatement | None:
    """Find the statement at a position.

    Args:
      file: the file.
      line: the line, from 1.
      column: the column in UTF-8 bytes from 0. With -1, or if no statement is there, it is the last, innermost statement of
        the line.

    Returns:
      None if the file cannot be read or parsed, or no statement is on the line.
    """
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None
    on_line: PlacedStatement | None = None
    found: PlacedStatement | None = None
    todo: list[tuple[ast.AST, ast.FunctionDef | ast.AsyncFunctionDef | None]] = [(tree, None)]
    while todo:
        node, function = todo.pop(0)
        inner = node if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else function
        for block in _blocks(node):
            for number, statement in enumerate(block):
                placed = PlacedStatement(statement, inner, tuple(block[number + 1 :]))
                if any(_is_on(part, line) for part in _heads(statement)):
                    on_line = placed
                if any(_holds(part, line, column) for part in _heads(statement)):
                    found = placed
                todo.append((statement, inner))
    return found or on_line


def names_around(file: str, line: int) -> set[str]:
    """Return the names in the function around a line; those of the whole file if the line is in none."""
    place = place_at(file, line)
    tree: ast.AST | None = place.function if place is not None else None
    if tree is None:
        try:
            tree = ast.parse("".join(linecache.getlines(file)))
        except (SyntaxError, ValueError):
            return set()
    nodes = [*ast.walk(tree)]
    return {one.id for one in nodes if isinstance(one, ast.Name)} | {
        one.arg for one in nodes if isinstance(one, ast.arg)
    }


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    blocks = [getattr(node, name, None) for name in ("body", "orelse", "finalbody")]
    blocks += [handler.body for handler in getattr(node, "handlers", ())]
    blocks += [case.body for case in getattr(node, "cases", ())]
    return [block for block in blocks if isinstance(block, list)]


def _heads(statement: ast.stmt) -> list[ast.expr | ast.stmt | ast.pattern]:
    """Return the parts of a statement that are not in its blocks: for a compound statement its head."""
    if isinstance(statement, ast.If | ast.While):
        return [statement.test]
    if isinstance(statement, ast.For | ast.AsyncFor):
        return [statement.iter]
    if isinstance(statement, ast.With | ast.AsyncWith):
        return [item.context_expr for item in statement.items]
    if isinstance(statement, ast.Match):
        guards = [case.guard for case in statement.cases if case.guard is not None]
        return [statement.subject, *(case.pattern for case in statement.cases), *guards]
    if isinstance(statement, ast.Try | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return []
    return [statement]


def _is_on(node: ast.expr | ast.stmt | ast.pattern, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _holds(node: ast.expr | ast.stmt | ast.pattern, line: int, column: int) -> bool:
    end = node.end_lineno or node.lineno, node.end_col_offset or 0
    return column >= 0 and (node.lineno, node.col_offset) <= (line, column) < end
