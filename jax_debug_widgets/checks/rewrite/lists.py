"""Rewrite lists of numbers that JAX's functions are given as arrays."""

from __future__ import annotations

import ast
from collections.abc import Callable

from jax_debug_widgets.checks.rewrite.expressions import replaced

_OF_SEVERAL = frozenset({"concatenate", "stack", "hstack", "vstack", "dstack", "column_stack"})
"""The functions of jax.numpy whose first argument is a list of arrays: each array may be given as a list."""


def list_argument(statement: ast.stmt, failing: ast.AST, is_list: Callable[[ast.expr], bool]) -> list[str] | None:
    """Convert lists that JAX does not take to arrays: `jnp.sum([1, 2])` -> `jnp.sum(jnp.array([1, 2]))`, `x + [1]`."""
    for node in (failing, *ast.walk(statement)):
        lists = [one for one in _given(node) if is_list(one)]
        if lists:
            new = {one: f"jnp.array({ast.unparse(one)})" for one in lists}
            return ast.unparse(ast.fix_missing_locations(replaced(statement, new))).splitlines()
    return None


def _given(node: ast.AST) -> list[ast.expr]:
    """Return the expressions that must be arrays."""
    operands = _operands(node)
    if not (isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _OF_SEVERAL):
        return operands
    match operands:
        case [ast.List(elts=several) | ast.Tuple(elts=several), *others]:
            return [*several, *others]
    return operands[1:]


def _operands(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Call(args=operands):
            return operands
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
        case ast.AugAssign(value=value):
            return [value]
        case ast.Subscript(slice=index) if not isinstance(index, ast.Tuple):
            return [index]
    return []
