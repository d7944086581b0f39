"""Look up values in a frame without running any of the user's code."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from types import MemberDescriptorType
from typing import Any

import jax
import jax.core

MISSING = object()


def value_of(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Return the value of an expression, or `MISSING`.

    Names, attributes in an instance's dictionary, and items of built-in containers are looked up. Properties,
    user-defined `__getitem__` methods and calls are not run.
    """
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return names.get(node.id, MISSING)
    if isinstance(node, ast.Attribute):
        owner = value_of(node.value, names)
        return MISSING if owner is MISSING else _attribute(owner, node.attr)
    if isinstance(node, ast.Subscript):
        owner, key = value_of(node.value, names), value_of(node.slice, names)
        if type(owner) in (dict, list, tuple) and key is not MISSING:
            try:
                return owner[key]
            except (LookupError, TypeError):
                return MISSING
    return MISSING


def _attribute(owner: Any, name: str) -> Any:
    """Return an attribute of an object: also a field of a named tuple, and one that is in `__slots__`."""
    fields = getattr(type(owner), "_fields", ()) if isinstance(owner, tuple) else ()
    if name in fields:
        return owner[fields.index(name)]
    found = inspect.getattr_static(owner, name, MISSING)
    return getattr(owner, name, MISSING) if isinstance(found, MemberDescriptorType) else found


def is_array(value: Any) -> bool:
    """Return whether a value is a JAX array, traced or not."""
    return isinstance(value, jax.Array)


def is_traced(value: Any) -> bool:
    """Return whether a value is a tracer."""
    return isinstance(value, jax.core.Tracer)


def is_whole_number(value: Any) -> bool:
    """Return whether a value is one integer, traced or not: as an index it removes an axis."""
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return True
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return kind in "iu" and bool(kind) and getattr(value, "ndim", 1) == 0


def leaves_of(node: ast.expr, names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the arrays in the value of an expression, each with the expression for it: `state['w']`."""
    value = value_of(node, names)
    if value is MISSING:
        return
    for path, leaf in jax.tree_util.tree_leaves_with_path(value):
        if is_array(leaf):
            yield ast.unparse(node) + jax.tree_util.keystr(path), leaf
