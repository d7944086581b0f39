"""Rewrite an assignment to elements of an array: `x[i] = y` -> `x = x.at[i].set(y)`."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np

from jax_debug_widgets.checks.namespace import is_array, is_traced, is_whole_number, value_of
from jax_debug_widgets.checks.rewrite.expressions import replaced
from jax_debug_widgets.checks.rewrite.masks import broadcast_mask, is_mask
from jax_debug_widgets.checks.rewrite.names import unused
from jax_debug_widgets.checks.rewrite.slices import with_known_lengths

_METHODS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "add",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
}
"""The methods of `.at[...]` for augmented assignments; for a subtraction the negative is added."""

_OPERATORS = {"add": ast.Add, "multiply": ast.Mult, "divide": ast.Div, "power": ast.Pow}
"""Method of `.at[...]` -> its operator."""


class _UncertainError(Exception):
    """Raised if it is not certain that any rewrite means the same."""


def in_place(statement: ast.stmt, names: Mapping[str, Any]) -> list[str] | None:
    """Rewrite a statement that changes an array in place; return None if no rewrite is certain.

    Covers `x[i] = y`, `x[i] += y` and similar, `x[i][j] = y`, `a.b[i] = y`, `x[i], y = p`, `x[i] = z = y`, `del x[i]`.

    Args:
      statement: the statement.
      names: the variables of its frame. They tell which part of `d["w"][0]` is the array.
    """
    known = with_known_lengths(statement, names)
    if known is None:
        return None
    try:
        lines = _rewritten(known, names)
    except _UncertainError:
        return None
    is_unknown = "dataclasses" not in names and any("dataclasses.replace" in line for line in lines or ())
    return ["import dataclasses", *lines] if is_unknown and lines else lines


_FUNCTIONS = {"fill": "full_like", "append": "append", "put": "put"}
"""Methods of lists and NumPy arrays that change them -> the functions of jax.numpy that return a changed copy."""


def by_method(statement: ast.stmt, names: Mapping[str, Any]) -> list[str] | None:
    """Rewrite a call of a method that JAX arrays do not have: `x.fill(1)` -> `x = jnp.full_like(x, 1)`."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=method), args=[*given], keywords=[])):
            if method in _FUNCTIONS and is_array(value_of(owner, names)):
                x = ast.unparse(owner)
                inplace = ", inplace=False" if method == "put" else ""
                arguments = ", ".join(map(ast.unparse, given))
                return [f"{x} = jnp.{_FUNCTIONS[method]}({x}, {arguments}{inplace})"]
    return None


def without_out(statement: ast.stmt) -> list[str] | None:
    """Rewrite a call with an `out` argument: `jnp.add(x, 1, out=x)` -> `x = jnp.add(x, 1)`."""
    match statement:
        case ast.Expr(value=ast.Call(func=function, args=arguments, keywords=keywords)):
            target = next((one.value for one in keywords if one.arg == "out"), None)
            if target is not None:
                call = ast.Call(function, arguments, [one for one in keywords if one.arg != "out"])
                return [f"{ast.unparse(target)} = {ast.unparse(call)}"]
    return None


def of_frozen(statement: ast.stmt, names: Mapping[str, Any]) -> list[str] | None:
    """Rewrite an assignment to a field of a frozen object: `e.w = x` -> `e = equinox.tree_at(lambda tree: tree.w, e, x)`."""
    match statement:
        case ast.Assign(targets=[ast.Attribute() as target], value=value):
            pass
        case ast.AugAssign(target=ast.Attribute() as target, op=operator, value=other):
            value = ast.BinOp(ast.Attribute(target.value, target.attr, ast.Load()), operator, other)
        case _:
            return None
    whole, owner = ast.unparse(target.value), value_of(target.value, names)
    copy = _copy_with(owner, whole, target.attr, ast.unparse(value), names)
    try:
        lines = [_bound(target.value, copy, names)] if copy else None
    except _UncertainError:
        return None
    is_unknown = bool(lines) and "dataclasses" not in names and copy.startswith("dataclasses.")
    return ["import dataclasses", *lines] if lines and is_unknown else lines


def copied(statement: ast.stmt, names: Mapping[str, Any]) -> list[str] | None:
    """Copy the NumPy array that shows the memory of a JAX array before the statement changes it; None if there is none."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name | ast.Attribute) and _is_of_jax(value_of(node, names)):
            array = ast.unparse(node)
            return [f"{array} = np.array({array})", *ast.unparse(statement).splitlines()]
    return None


def _is_of_jax(value: Any) -> bool:
    while isinstance(value, np.ndarray):
        if value.flags.writeable:
            return False
        value = value.base
    return isinstance(value, memoryview) and is_array(value.obj)


def _rewritten(statement: ast.stmt, names: Mapping[str, Any]) -> list[str] | None:
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Subscript):
        return _augmented(statement, statement.target, names)
    if isinstance(statement, ast.Assign):
        return _assigned(statement, names)
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Subscript) and statement.value:
        return [_set(statement.target, ast.unparse(statement.value), names)]
    if isinstance(statement, ast.Delete):
        deleted = [target for target in statement.targets if isinstance(target, ast.Subscript)]
        if len(deleted) == len(statement.targets):
            return [
                f"{ast.unparse(one.value)} = jnp.delete({ast.unparse(one.value)}, {_index(one)}, axis=0)"
                for one in deleted
            ]
    return None


def _augmented(statement: ast.AugAssign, target: ast.Subscript, names: Mapping[str, Any]) -> list[str]:
    method = _METHODS.get(type(statement.op))
    if method is None:  # For example `x[i] //= 2`.
        return [_set(target, ast.unparse(ast.BinOp(target, statement.op, statement.value)), names)]
    value = statement.value
    if isinstance(statement.op, ast.Sub):
        value = ast.UnaryOp(ast.USub(), value)
    return [_set(target, ast.unparse(value), names, method)]


def _assigned(statement: ast.Assign, names: Mapping[str, Any]) -> list[str] | None:
    targets = statement.targets
    if len(targets) == 1 and isinstance(targets[0], ast.Tuple | ast.List):
        return _unpacked(targets[0], statement.value, names)
    if not any(isinstance(target, ast.Subscript) for target in targets):
        return None
    value = ast.unparse(statement.value)
    if len(targets) == 1:
        return [_set(target, value, names) for target in targets if isinstance(target, ast.Subscript)]
    # The value is computed once, as Python does.
    plain = [ast.unparse(target) for target in targets if not isinstance(target, ast.Subscript)]
    first, *others = plain or [unused("value", names)]
    lines = [f"{first} = {value}", *(f"{other} = {first}" for other in others)]
    return lines + [_set(target, first, names) for target in targets if isinstance(target, ast.Subscript)]


def _unpacked(target: ast.Tuple | ast.List, value: ast.expr, names: Mapping[str, Any]) -> list[str] | None:
    if any(isinstance(part, ast.Starred | ast.Tuple | ast.List) for part in target.elts):
        return None
    parts = [
        unused(f"new_{number}", names) if isinstance(part, ast.Subscript) else ast.unparse(part)
        for number, part in enumerate(target.elts)
    ]
    lines = [f"{', '.join(parts)} = {ast.unparse(value)}"]
    for name, part in zip(parts, target.elts, strict=True):
        if isinstance(part, ast.Subscript):
            lines.append(_set(part, name, names))
    return lines


def _set(target: ast.Subscript, value: str, names: Mapping[str, Any], method: str = "set") -> str:
    """Return the line that replaces an assignment of `value` to `target`.

    Raises:
      _UncertainError: NumPy would assign to a copy, or it is unknown whether it would.
    """
    array, indices = _array_of(target, names)
    if not all(_is_view(one.slice, names) for one in indices[:-1]):
        raise _UncertainError
    base = ast.unparse(array)
    if len(indices) > 1 and all(is_whole_number(value_of(one.slice, names)) for one in indices):
        # `x[i][j]` is `x[i, j]` if both are numbers.
        return _bound(array, f"{base}.at[{', '.join(map(_index, indices))}].{method}({value})", names)
    if len(indices) == 1 and is_mask(target.slice, names) and _is_traced(target, names):
        return _bound(array, _chosen(target, value, names, method), names)
    return _bound(array, _nested(base, indices, value, method), names)


def _is_traced(target: ast.Subscript, names: Mapping[str, Any]) -> bool:
    return any(is_traced(value_of(node, names)) for node in ast.walk(target) if isinstance(node, ast.expr))


def _chosen(target: ast.Subscript, value: str, names: Mapping[str, Any], method: str) -> str:
    """Write `x[mask] = value` as a choice, because `.at[mask]` takes no traced mask.

    Raises:
      _UncertainError: the value may have one element for each element that the mask chooses.
    """
    mask, whole = ast.unparse(target.slice), ast.unparse(target.value)
    expression = ast.parse(value, mode="eval").body
    chosen = [
        node for node in ast.walk(expression) if isinstance(node, ast.Subscript) and ast.unparse(node.slice) == mask
    ]
    others = [node for node in ast.walk(expression) if isinstance(node, ast.Name)]
    inside = [node for one in chosen for node in ast.walk(one)]
    if any(getattr(value_of(one, names), "ndim", 0) for one in others if one not in inside):
        raise _UncertainError
    new = ast.unparse(replaced(ast.Expr(expression), {one: ast.unparse(one.value) for one in chosen}))
    if method in _OPERATORS:
        new = ast.unparse(ast.BinOp(target.value, _OPERATORS[method](), ast.parse(new, mode="eval").body))
    return f"jnp.where({broadcast_mask(target, names)}, {new}, {whole})"


def _bound(target: ast.expr, value: str, names: Mapping[str, Any]) -> str:
    """Return the line that binds a name, attribute or item to a value. If its owner cannot change, a copy replaces the owner.

    Raises:
      _UncertainError: the owner is an array, or it is a tuple and the position in it is not known.
    """
    owner = value_of(target.value, names) if isinstance(target, ast.Attribute | ast.Subscript) else None
    whole = ast.unparse(target.value) if isinstance(target, ast.Attribute | ast.Subscript) else ""
    match target:
        case ast.Attribute() if is_array(owner):
            raise _UncertainError  # A view of an array, such as `x.T`.
        case ast.Attribute(value=inner, attr=name) if isinstance(owner, tuple):
            return _bound(inner, f"{whole}._replace({name}={value})", names)
        case ast.Attribute(value=inner, attr=name) if copy := _copy_with(owner, whole, name, value, names):
            return _bound(inner, copy, names)
        case ast.Subscript(value=inner, slice=index) if isinstance(owner, tuple):
            position = value_of(index, names)
            if not isinstance(position, int) or position < 0:
                raise _UncertainError
            before = f"*{whole}[:{position}], " if position else ""
            return _bound(inner, f"({before}{value}, *{whole}[{position + 1}:])", names)
    return f"{ast.unparse(target)} = {value}"


def _copy_with(owner: Any, whole: str, name: str, value: str, names: Mapping[str, Any]) -> str:
    """Write a copy of a frozen dataclass with another value in one field; empty if the owner is not a frozen dataclass.

    Modules of equinox are frozen, too; equinox has its own function for that.
    """
    if any(one.__module__.partition(".")[0] == "equinox" for one in type(owner).__mro__):
        equinox = next((alias for alias, one in names.items() if getattr(one, "__name__", "") == "equinox"), "equinox")
        return f"{equinox}.tree_at(lambda tree: tree.{name}, {whole}, {value})"
    is_frozen = getattr(getattr(type(owner), "__dataclass_params__", None), "frozen", False)
    return f"dataclasses.replace({whole}, {name}={value})" if is_frozen else ""


def _nested(base: str, indices: list[ast.Subscript], value: str, method: str) -> str:
    first, *rest = map(_index, indices)
    if not rest:
        return f"{base}.at[{first}].{method}({value})"
    return f"{base}.at[{first}].set({_nested(f'{base}[{first}]', indices[1:], value, method)})"


def _is_view(index: ast.expr, names: Mapping[str, Any]) -> bool:
    """Return whether an index consists of slices and whole numbers, so that NumPy returns a view and not a copy."""
    if isinstance(index, ast.Tuple):
        return all(_is_view(one, names) for one in index.elts)
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub):
        index = index.operand
    return isinstance(index, ast.Slice) or value_of(index, names) is ... or is_whole_number(value_of(index, names))


def _array_of(target: ast.Subscript, names: Mapping[str, Any]) -> tuple[ast.expr, list[ast.Subscript]]:
    """Return the expression for the array, and the subscripts after it, the outermost index first.

    Raises:
      _UncertainError: it is not known which of several subscripts begin at the array.
    """
    chain: list[ast.Subscript] = []
    node: ast.expr = target
    while isinstance(node, ast.Subscript):
        chain.insert(0, node)
        node = node.value
    for number, subscript in enumerate(chain):
        if is_array(value_of(subscript.value, names)):
            return subscript.value, chain[number:]
    if len(chain) > 1:
        raise _UncertainError
    return target.value, [target]


def _index(subscript: ast.Subscript) -> str:
    return ast.unparse(subscript)[len(ast.unparse(subscript.value)) + 1 : -1]
