"""Write a choice between two values as an expression that JAX can trace."""

from __future__ import annotations

import ast
import enum
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from jax_debug_widgets.checks.namespace import MISSING, value_of


class _Form(enum.Enum):
    """What the value of an expression is: a number or array, a tree of these, or something else."""

    ARRAY = enum.auto()
    TREE = enum.auto()
    OTHER = enum.auto()


def choice(test: str, then: ast.expr, other: ast.expr, names: Mapping[str, Any]) -> str | None:
    """Write `then if test else other`: by `jnp.where` for arrays, by `jax.lax.cond` for trees of arrays.

    Args:
      test: the condition, as an expression of arrays.
      then, other: the two values.
      names: the variables of the frame.

    Returns:
      None if one of the values holds something else, such as a text or a function, or if only one is a tree.
    """
    forms = {_form(then, names), _form(other, names)}
    one, another = ast.unparse(then), ast.unparse(other)
    if forms == {_Form.ARRAY}:
        return f"jnp.where({test}, {one}, {another})"
    return f"jax.lax.cond({test}, lambda: {one}, lambda: {another})" if forms == {_Form.TREE} else None


def can_be_traced(node: ast.expr, names: Mapping[str, Any]) -> bool:
    """Return whether a value may be part of a program: an array or a tree of arrays, or not known."""
    return _form(node, names) is not _Form.OTHER


def _form(node: ast.expr, names: Mapping[str, Any]) -> _Form:
    """Return the form of the value of an expression. A value that is not known counts as an array."""
    match node:
        case ast.Constant() | ast.Name() | ast.Attribute() | ast.Subscript():
            return _form_of(value_of(node, names))
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            return _Form.OTHER if any(_form(part, names) is _Form.OTHER for part in parts) else _Form.TREE
        case ast.IfExp(body=body, orelse=other):
            forms = {_form(body, names), _form(other, names)}
            return forms.pop() if len(forms) == 1 else _Form.OTHER
    return _FORMS.get(type(node), _Form.ARRAY)


_FORMS = {
    **dict.fromkeys((ast.ListComp, ast.DictComp), _Form.TREE),
    **dict.fromkeys((ast.Lambda, ast.JoinedStr, ast.Set, ast.SetComp, ast.GeneratorExp), _Form.OTHER),
}
"""Type of an expression -> its form, for expressions that are neither numbers nor arrays. `_form` handles further types."""


def _form_of(value: Any) -> _Form:
    if value is MISSING or _is_number(value):
        return _Form.ARRAY
    if value is None or jax.tree_util.all_leaves([value]):
        return _Form.OTHER
    return _Form.TREE if all(map(_is_number, jax.tree_util.tree_leaves(value))) else _Form.OTHER


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | complex | np.ndarray | np.generic | jax.Array)
