"""Find the names that a block of statements assigns and reads."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Container, Iterable, Iterator, Sequence


def _walk(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield all nodes except those inside functions, lambdas and classes, which have their own names."""
    todo = list(nodes)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            todo += ast.iter_child_nodes(node)


def assigned_in(block: Iterable[ast.stmt]) -> set[str]:
    """Return the names that a block assigns."""
    return {node.id for node in _walk(block) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def values_in(block: Iterable[ast.stmt]) -> list[ast.expr]:
    """Return the expressions that a block assigns to names."""
    return [
        node.value
        for node in _walk(block)
        if isinstance(node, ast.Assign) and all(isinstance(target, ast.Name) for target in node.targets)
    ]


def read_in(*nodes: ast.AST) -> set[str]:
    """Return the names that are read, in inner functions too; `x += 1` reads `x`."""
    read = set()
    for node in nodes:
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
                read.add(one.id)
            elif isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name):
                read.add(one.target.id)
    return read


def is_read_first(block: Sequence[ast.stmt], name: str) -> bool:
    """Return whether a block may read a name before it assigns it."""
    for statement in block:
        if name in read_in(statement):
            return True
        if isinstance(statement, ast.Assign | ast.AnnAssign) and name in assigned_in([statement]):
            return False
    return name in assigned_in(block)


def unused(name: str, *taken: Container[str]) -> str:
    """Return the name, with a number after it if one of `taken` has the name."""
    numbered = (f"{name}_{number}" for number in itertools.count(2))
    return next(one for one in itertools.chain((name,), numbered) if not any(one in names for names in taken))


def has_jump(block: Iterable[ast.stmt]) -> bool:
    """Return whether a block leaves its flow (return, raise, yield, break) or changes attributes, items, lists or globals."""
    jumps = ast.Return | ast.Raise | ast.Break | ast.Continue | ast.Yield | ast.YieldFrom | ast.Await
    outside = ast.Global | ast.Nonlocal | ast.Delete
    return any(
        isinstance(node, jumps | outside)
        or (isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store))
        or _changes_a_container(node)
        for node in _walk(block)
    )


def _changes_a_container(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method))):
            return method in _CHANGING
    return False


_CHANGING = frozenset(
    {"add", "append", "appendleft", "clear", "extend", "insert", "pop", "remove", "setdefault", "update"}
)
"""Methods of lists, dictionaries and sets that change them."""


def state_of(names: Sequence[str]) -> str:
    """Write the names as one value: `x`, or `(x, y)`."""
    return names[0] if len(names) == 1 else f"({', '.join(names)})"
