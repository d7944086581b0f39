"""Rewrite a statement that stores a number of a traced function outside of the function: `losses.append(float(loss))`.

While JAX traces, the number is not known, and to store the tracer instead would leak it. A callback stores the number when
the program runs.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import jax

from jax_debug_widgets.checks.namespace import is_traced
from jax_debug_widgets.checks.rewrite.expressions import replaced
from jax_debug_widgets.checks.rewrite.names import assigned_in, read_in, unused

_ADDS = frozenset({"add", "append", "appendleft", "put"})
"""The methods of containers that store one value."""


def stored_outside(
    statement: ast.stmt,
    failing: ast.AST,
    function: ast.FunctionDef | ast.AsyncFunctionDef | None,
    names: Mapping[str, Any],
) -> list[str] | None:
    """Return the line that stores the number by a callback.

    The list is empty if a callback would hold tracers; it is None if the statement does something else.

    Args:
      failing: the expression that needs a value: `float(loss)`, `loss.item()`.
      function: the function around the statement.
      names: the variables at the statement.
    """
    array = _array_of(failing)
    found = _store_of(statement)
    if array is None or found is None or function is None:
        return None
    store, call = found
    if not _is_outside(store, function) or not any(failing is node for node in ast.walk(call)):
        return None
    value = unused("value", names)
    written = ast.unparse(replaced(ast.Expr(call), {array: value}))
    # A module that is a pytree of tracers is a copy: what is stored there is lost.
    used = [names.get(name) for name in read_in(ast.parse(written))]
    if any(map(is_traced, jax.tree.leaves(used))):
        return []
    return [f"jax.debug.callback(lambda {value}: {written}, {ast.unparse(array)})"]


def _array_of(failing: ast.AST) -> ast.expr | None:
    """Return the array that an expression converts to a Python number; None if the expression is not a conversion."""
    match failing:
        case ast.Call(func=ast.Name(id="float" | "int" | "bool"), args=[array], keywords=[]):
            return array
        case ast.Call(func=ast.Attribute(value=array, attr="item" | "tolist"), args=[], keywords=[]):
            return array
    return None


def _store_of(statement: ast.stmt) -> tuple[ast.expr, ast.expr] | None:
    """Return the container or object in which a statement stores a value, and a call that stores it; None for others."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=store, attr=name)) as call) if name in _ADDS:
            return store, call
        case ast.Assign(targets=[ast.Subscript(value=store, slice=key)], value=value):
            return store, ast.Call(ast.Attribute(store, "__setitem__", ast.Load()), [key, value], [])
        case ast.Assign(targets=[ast.Attribute(value=store, attr=name)], value=value):
            return store, ast.Call(ast.Name("setattr", ast.Load()), [store, ast.Constant(name), value], [])
    return None


def _is_outside(store: ast.expr, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a container is neither made in the function nor an argument of it, except for `self` and `cls`."""
    while isinstance(store, ast.Attribute | ast.Subscript):
        store = store.value
    if not isinstance(store, ast.Name):
        return False
    arguments = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)} - {"self", "cls"}
    return store.id not in assigned_in(function.body) | arguments
