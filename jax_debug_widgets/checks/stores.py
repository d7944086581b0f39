"""Find the line of a traced function that stores an argument or a value outside the function."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from jax_debug_widgets.checks.definitions import definition_at
from jax_debug_widgets.checks.statement import place_at

if TYPE_CHECKING:
    from jax_debug_widgets._jax.origins.frames import Frame

_STORING = frozenset({"append", "appendleft", "add", "insert", "extend", "setdefault", "update"})
_IDENTIFIER = re.compile(r"[^\W\d]\w*")


def value_stored_at(made: Frame, holder: str) -> Frame:
    """Return the statement that stores in `holder`, from the line that made the value on; that line if there is none."""
    place = place_at(made.file, made.line, made.column)
    names = set(_IDENTIFIER.findall(holder))
    for statement in ast.walk(place.function) if place is not None and place.function is not None else ():
        is_behind = getattr(statement, "end_lineno", 0) >= made.line
        if is_behind and names.intersection(_stored_outside(statement)):
            return _at(made, statement)
    return made


def only_store(called: Frame, holder: str) -> Frame:
    """Return the only statement in a function of this file that stores in `holder`; the line itself if there are several."""
    try:
        tree = ast.parse("".join(linecache.getlines(called.file)))
    except (SyntaxError, ValueError):
        return called
    names = set(_IDENTIFIER.findall(holder))
    functions = (one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
    inside = (statement for function in functions for statement in ast.walk(function))
    found = {statement for statement in inside if names.intersection(_stored_outside(statement))}
    return _at(called, found.pop()) if len(found) == 1 else called


def _stored_outside(statement: ast.AST) -> Iterator[str]:
    """Yield the names that a statement stores into, except plain variables."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    if not all(isinstance(one, ast.Name) for one in targets) or isinstance(statement, ast.Expr):
        yield from _stored_to(statement)


def stored_at(function: Frame, argument: str, holder: str) -> Frame:
    """Return the statement that stores `argument` in `holder`; if none is found, the `def` line, below any decorators.

    Args:
      function: the first line of the traced function according to its code object; the first decorator's, if it has one.
      argument: the argument, or a part of it.
      holder: the expression that holds the argument.
    """
    found = definition_at(function.file, function.line)
    if found is None:
        return function
    names, own = set(_IDENTIFIER.findall(holder)), _IDENTIFIER.findall(argument)[:1]
    for statement in ast.walk(found):
        targets = set(_stored_to(statement))
        if targets & names and own and _mentions(statement, own[0]):
            return _at(function, statement)
    return replace(function, line=found.lineno, end_line=found.lineno)


def _stored_to(statement: ast.AST) -> Iterator[str]:
    """Yield the names that a statement stores into: `last` of `net.last = x`, `kept` of `kept.append(x)`."""
    match statement:
        case ast.Assign(targets=targets):
            yield from map(_last_name, targets)
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            yield _last_name(target)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=name))) if name in _STORING:
            yield _last_name(owner)


def _last_name(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _mentions(statement: ast.AST, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(statement))


def _at(function: Frame, node: ast.AST) -> Frame:
    line, end = getattr(node, "lineno", function.line), getattr(node, "end_lineno", function.line)
    column, end_column = getattr(node, "col_offset", -1), getattr(node, "end_col_offset", -1)
    return replace(function, line=line, column=column, end_line=end, end_column=end_column)
