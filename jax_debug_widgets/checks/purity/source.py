"""Find in the syntax tree where a function changes the value of a name."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from jax_debug_widgets._jax.origins.frames import Frame
from jax_debug_widgets.checks.purity.prints import ABSENT, PartChange

_GLOBAL_RANDOM = np.random.rand.__self__
"""The generator from which the functions of np.random draw."""

_LONGEST = 40
"""The most characters of code in a description."""

_CHANGING = frozenset(
    {
        "add",
        "append",
        "appendleft",
        "clear",
        "discard",
        "extend",
        "insert",
        "pop",
        "popitem",
        "popleft",
        "remove",
        "reverse",
        "rotate",
        "setdefault",
        "sort",
        "update",
    }
)


def changing(function: FunctionType, name: str) -> ast.AST | None:
    """Return the statement or call that changes the value of a name or an attribute; None if none is found."""
    return next((node for node in _nodes(function) if _changes(node, name)), None)


def advancing(function: FunctionType, name: str) -> ast.AST | None:
    """Return the expression that takes elements from an iterator; None if none is found."""
    for node in _nodes(function):
        if isinstance(node, ast.Call) and any(_text(one) == name for one in node.args):
            return node
        if isinstance(node, ast.For | ast.comprehension) and _text(node.iter) == name:
            return node.iter
    return None


def taking(node: ast.AST | None, name: str) -> str:
    """Describe what takes the elements of an iterator: `` `next(it)` ``, ``the loop over `it` ``; empty if unknown."""
    if isinstance(node, ast.Call):
        text = _text(node)
        return f"`{text}`" if len(text) <= _LONGEST else ""
    return "" if node is None else f"the loop over `{name}`"


def drawing(function: FunctionType) -> ast.Call | None:
    """Return the call that draws from NumPy's global random generator; None if none is found."""
    for node in _nodes(function):
        if isinstance(node, ast.Call) and _is_global_random(node.func, function.__globals__):
            return node
    return None


def _is_memo(function: FunctionType, name: str) -> bool:
    """Return whether a function looks something up in the value of a name before it stores it there.

    Such a cache gets the same entries at each trace.
    """
    for node in _nodes(function):
        if isinstance(node, ast.Compare) and name in (_text(node.left), *map(_text, node.comparators)):
            if any(isinstance(one, ast.In | ast.NotIn | ast.Is | ast.IsNot) for one in node.ops):
                return True
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _text(node.value) == name:
            return True
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _text(node.func.value) == name:
            if node.func.attr in ("get", "setdefault"):
                return True
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("hasattr", "getattr"):
            owner, attribute, *_ = (*node.args, None, None)
            if isinstance(attribute, ast.Constant) and f"{_text(owner)}.{attribute.value}" == name:
                return True
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and _text(node.operand) == name:
            return True
    return False


def fills_a_cache(functions: Iterable[FunctionType], name: str, change: PartChange) -> bool:
    """Return whether a change only fills a cache that is looked up: a table, or an attribute that was None."""
    before, after = change.before, change.after
    grows = before.kind == after.kind and isinstance(after.key, int) and isinstance(before.key, int)
    is_table = grows and after.key > before.key and all(part in after.parts for part in before.parts)
    is_first = before is ABSENT or before.text == "None"
    whole = f"{name}{change.path}"
    texts = {name, whole, *([whole.rpartition("[")[0]] if whole.endswith("]") else [])}
    return (is_table or is_first) and any(_is_memo(one, text) for one in functions for text in texts)


def frame_at(function: FunctionType, node: ast.AST | None, line: int = 0) -> Frame:
    """Return the range of a node; without a node, the whole line."""
    code = function.__code__
    if not isinstance(node, ast.expr | ast.stmt):
        line = line or code.co_firstlineno
        return Frame(code.co_filename, line, -1, line, -1, code.co_qualname)
    end = node.end_lineno or node.lineno, -1 if node.end_col_offset is None else node.end_col_offset
    return Frame(code.co_filename, node.lineno, node.col_offset, *end, code.co_qualname)


def _changes(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Assign | ast.Delete):
        return any(_is_of(target, name) for target in node.targets)
    if isinstance(node, ast.AugAssign | ast.AnnAssign | ast.NamedExpr):
        return _is_of(node.target, name)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in _CHANGING and _is_of(node.func.value, name)
    return False


def _is_of(target: ast.expr, name: str) -> bool:
    """Return whether a target is the value of a name, or a part of it."""
    if isinstance(target, ast.Tuple | ast.List):
        return any(_is_of(one, name) for one in target.elts)
    text = _text(target)
    return text == name or text.startswith((f"{name}[", f"{name}."))


def _is_global_random(function: ast.expr, names: dict[str, Any]) -> bool:
    steps: list[str] = []
    while isinstance(function, ast.Attribute):
        steps.append(function.attr)
        function = function.value
    value = names.get(function.id) if isinstance(function, ast.Name) else None
    if value is np:
        return steps[-1:] == ["random"] and len(steps) > 1 and hasattr(_GLOBAL_RANDOM, steps[0])
    if value is np.random:
        return len(steps) == 1 and hasattr(_GLOBAL_RANDOM, steps[0])
    return not steps and getattr(value, "__self__", None) is _GLOBAL_RANDOM


def _text(node: ast.AST | None) -> str:
    return ast.unparse(node) if isinstance(node, ast.expr) else ""


def _nodes(function: FunctionType) -> Iterator[ast.AST]:
    """Yield the syntax tree's nodes in the lines of a function, the outermost first."""
    code = function.__code__
    lines = [line for _, _, line in _lines(code) if line]
    first, last = code.co_firstlineno, max(lines, default=code.co_firstlineno)
    for node in _tree("".join(linecache.getlines(code.co_filename))):
        if first <= getattr(node, "lineno", first) <= last:
            yield node


def _lines(code: Any) -> Iterator[tuple[int, int, int | None]]:
    yield from code.co_lines()
    for constant in code.co_consts:
        if hasattr(constant, "co_lines"):
            yield from _lines(constant)


@functools.lru_cache(maxsize=64)
def _tree(text: str) -> tuple[ast.AST, ...]:
    try:
        return tuple(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        return ()
