"""Rewrite what NumPy or SciPy does with traced arrays: `np.sin(x)` -> `jnp.sin(x)`, `table[i]` -> `jnp.asarray(table)[i]`."""

from __future__ import annotations

import ast
import copy
import sys
import types
from collections.abc import Mapping
from typing import Any

import jax
import jax.scipy
import numpy as np

from jax_debug_widgets.checks.namespace import is_traced, value_of


def numpy_calls(statement: ast.stmt, names: Mapping[str, Any], *, only_of_traced: bool = False) -> list[str] | None:
    """Rewrite all calls of NumPy and SciPy in a statement, and NumPy arrays that a traced value indexes.

    Args:
      statement: the statement.
      names: the variables of its frame.
      only_of_traced: whether calls that are given no traced value stay as they are.

    Returns:
      None if there are none, or if jax.numpy lacks a function that gets a traced value.
    """
    changed = copy.deepcopy(statement)
    for node in ast.walk(changed):
        match node:
            case ast.Call() if only_of_traced and not _has_traced(node, names):
                pass
            case ast.Call(func=function) if scipys := _path_in_scipy(function, names):
                node.func = ast.parse(scipys, mode="eval").body
            case ast.Call(func=function) if numpys := _path(function, names):
                if _is_in_jax(numpys):
                    node.func = ast.parse(f"jnp.{numpys}", mode="eval").body
                elif _has_traced(node, names):
                    return None
            case ast.Subscript(value=array, slice=index) if isinstance(value_of(array, names), np.ndarray):
                if _has_traced(index, names):
                    node.value = ast.parse(f"jnp.asarray({ast.unparse(array)})", mode="eval").body
    lines = ast.unparse(ast.fix_missing_locations(changed)).splitlines()
    return None if lines == ast.unparse(statement).splitlines() else lines


def _has_traced(node: ast.AST, names: Mapping[str, Any]) -> bool:
    return any(isinstance(one, ast.Name) and is_traced(names.get(one.id)) for one in ast.walk(node))


def _path(function: ast.expr, names: Mapping[str, Any]) -> str:
    """Return the name of a function inside NumPy, such as `linalg.norm`; empty if it is not NumPy's."""
    value = value_of(function, names)
    if isinstance(function, ast.Attribute):
        module = value_of(function.value, names)
        own = module.__name__ if isinstance(module, types.ModuleType) else ""
        name = function.attr
    else:
        own = "numpy" if isinstance(value, np.ufunc) else getattr(value, "__module__", None) or ""
        name = getattr(value, "__name__", "")
    package, _, inner = own.partition(".")
    return f"{inner}.{name}".lstrip(".") if package == "numpy" and name else ""


def _path_in_scipy(node: ast.expr, names: Mapping[str, Any]) -> str:
    """Return `jax.scipy.special.gammaln` for SciPy's function of this name; empty for other functions."""
    if path := _of_scipy(value_of(node, names)):
        return path
    if isinstance(node, ast.Attribute):  # A method of a distribution, such as `stats.norm.logpdf`.
        owner = value_of(node.value, names)
        path = "" if isinstance(owner, types.ModuleType) else _of_scipy(owner)
        return f"{path}.{node.attr}" if path and _exists(jax, f"{path}.{node.attr}".removeprefix("jax.")) else ""
    return ""


def _of_scipy(value: Any) -> str:
    for name, module in [*sys.modules.items()] if callable(value) else ():
        if name.startswith("scipy.") and name.count(".") == 1 and _exists(jax, name):
            own = next((own for own, one in vars(module).items() if one is value), "")
            if own and _exists(jax, f"{name}.{own}"):
                return f"jax.{name}.{own}"
    return ""


def _exists(root: Any, path: str) -> bool:
    for name in path.split("."):
        root = getattr(root, name, None)
    return root is not None


def _is_in_jax(path: str) -> bool:
    return _exists(jax.numpy, path)
