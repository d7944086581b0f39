"""Rewrite code with shapes that depend on values: `x[mask].sum()`, `jnp.nonzero(x)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jax_debug_widgets.checks.namespace import is_array, value_of
from jax_debug_widgets.checks.rewrite.expressions import replaced

_NEUTRAL = {"sum": "0", "prod": "1", "max": "-jnp.inf", "min": "jnp.inf", "any": "False", "all": "True"}
"""Reduction -> its neutral element, which does not change its result."""

_BY_WHERE = ("mean", "std", "var")
"""The reductions that take `where=`."""

_SIZES = {
    **dict.fromkeys(("nonzero", "flatnonzero", "argwhere", "where", "compress", "extract"), "size"),
    **dict.fromkeys(("unique", "unique_values", "union1d", "intersect1d", "setdiff1d"), "size"),
    "repeat": "total_repeat_length",
    "bincount": "length",
    **dict.fromkeys(("segment_sum", "segment_prod", "segment_max", "segment_min"), "num_segments"),
}
"""The functions of `jax.numpy` and `jax.ops` with a result whose size depends on values -> the argument that says the size."""


def boolean_mask(statement: ast.stmt, block: Sequence[ast.stmt], names: Mapping[str, Any]) -> list[str] | None:
    """Rewrite `x[mask]` if it is reduced in this statement, or once in a later one; else return None.

    Args:
      statement: the statement.
      block: the statements that follow.
      names: the variables of its frame.
    """
    selected = [one for one in ast.walk(statement) if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Load)]
    masked = [one for one in selected if is_mask(one.slice, names)] or selected[:1]
    changes: dict[ast.expr, str] = {}
    for one in masked:
        reduction = next(_reductions(statement, one, names), None)
        if reduction is None:
            changes = {}
            break
        changes[reduction[0]] = _reduced(one, *reduction, names)
    if changes:
        return ast.unparse(ast.fix_missing_locations(replaced(statement, changes))).splitlines()
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() as value) if value in masked:
            return _reduced_later(name, value, block, names)
    return None


def _reduced_later(
    name: str, selection: ast.Subscript, block: Sequence[ast.stmt], names: Mapping[str, Any]
) -> list[str] | None:
    uses = [node for later in block for node in ast.walk(later) if isinstance(node, ast.Name) and node.id == name]
    found = [one for later in block for node in uses for one in _reductions(later, node, names)]
    if len(uses) != 1 or len(found) != 1 or found[0][0].keywords:
        return None  # The selection has other uses, such as its length.
    call, reduction = found[0]
    if reduction in _NEUTRAL:
        return [f"{name} = {_filled(selection, reduction, names)}"]
    return [f"{_reduced(selection, call, reduction, names)}  # in place of {ast.unparse(call)}, without this line"]


def _reductions(statement: ast.stmt, selection: ast.expr, names: Mapping[str, Any]) -> Iterator[tuple[ast.Call, str]]:
    """Yield each call that reduces a selection (`s.sum()`, `jnp.sum(s)`), and the reduction's name.

    A call with an axis counts if the mask of the selection has one axis, so that the other axes keep their places.
    """
    keeps_axes = isinstance(selection, ast.Subscript) and _ndim(selection.slice, names) == 1
    for node in ast.walk(statement):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.keywords and not (keeps_axes and [one.arg for one in node.keywords] == ["axis"]):
            continue
        name = node.func.attr
        if name not in (*_NEUTRAL, *_BY_WHERE):
            continue
        if (node.func.value is selection and not node.args) or (len(node.args) == 1 and node.args[0] is selection):
            yield node, name


def _reduced(selection: ast.Subscript, call: ast.Call, name: str, names: Mapping[str, Any]) -> str:
    axis = "".join(f"axis={ast.unparse(one.value)}" for one in call.keywords)
    if name in _BY_WHERE:
        array, mask = ast.unparse(selection.value), broadcast_mask(selection, names)
        return f"jnp.{name}({', '.join(filter(None, (array, axis, f'where={mask}')))})"
    return f"{_filled(selection, name, names)}.{name}({axis})"


def _filled(selection: ast.Subscript, name: str, names: Mapping[str, Any]) -> str:
    """Write `x[mask]` with all elements of `x`; outside of the mask, they are the neutral element of a reduction."""
    array, neutral = ast.unparse(selection.value), _NEUTRAL[name]
    kind = getattr(getattr(value_of(selection.value, names), "dtype", None), "kind", "")
    if "inf" in neutral and kind in ("i", "u"):
        neutral = f"jnp.iinfo({array}.dtype).{'min' if name == 'max' else 'max'}"
    return f"jnp.where({broadcast_mask(selection, names)}, {array}, {neutral})"


_UPDATES = {
    "set": "{new}",
    "add": "{old} + {new}",
    "subtract": "{old} - {new}",
    "multiply": "{old} * {new}",
    "mul": "{old} * {new}",
    "divide": "{old} / {new}",
    "power": "{old} ** {new}",
    "min": "jnp.minimum({old}, {new})",
    "max": "jnp.maximum({old}, {new})",
}
"""Method of `.at[mask]` -> what it writes."""


def masked_update(statement: ast.stmt, names: Mapping[str, Any]) -> list[str] | None:
    """Rewrite `x.at[mask].set(y)` and similar calls with `jnp.where`; None without one, or if `y` may be an array."""
    changes: dict[ast.expr, str] = {}
    for node in ast.walk(statement):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Subscript(value=ast.Attribute(value=array, attr="at")) as at, attr=method),
                args=[value],
                keywords=[],
            ) if method in _UPDATES and is_mask(at.slice, names):
                new = _unmasked(value, at.slice, names)
                if new is None:
                    return None
                old = ast.unparse(array)
                written = _UPDATES[method].format(
                    old=old, new=new if new.isidentifier() or method == "set" else f"({new})"
                )
                mask = broadcast_mask(ast.Subscript(array, at.slice, ast.Load()), names)
                changes[node] = f"jnp.where({mask}, {written}, {old})"
    return ast.unparse(ast.fix_missing_locations(replaced(statement, changes))).splitlines() if changes else None


def _unmasked(value: ast.expr, mask: ast.expr, names: Mapping[str, Any]) -> str | None:
    """Write a value with `y` in place of `y[mask]`; None if another array with axes is in it."""
    selected = [
        one for one in ast.walk(value) if isinstance(one, ast.Subscript) and ast.dump(one.slice) == ast.dump(mask)
    ]
    inside = {id(node) for one in selected for node in ast.walk(one)}
    others = [node for node in ast.walk(value) if isinstance(node, ast.Name | ast.Attribute) and id(node) not in inside]
    if any(getattr(value_of(one, names), "ndim", 0) for one in others):
        return None
    return ast.unparse(replaced(ast.Expr(value), {one: ast.unparse(one.value) for one in selected}))


def is_mask(index: ast.expr, names: Mapping[str, Any]) -> bool:
    """Return whether an index is known to be an array of booleans."""
    match index:
        case ast.Compare(ops=[operator]):
            return not isinstance(operator, ast.In | ast.NotIn | ast.Is | ast.IsNot)
        case ast.UnaryOp(op=ast.Invert(), operand=operand):
            return is_mask(operand, names)
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() | ast.BitXor(), right=right):
            return is_mask(left, names) or is_mask(right, names)
        case ast.Call(func=ast.Attribute(attr=name)):
            return name.startswith(("is", "logical_"))
    value = value_of(index, names)
    return getattr(getattr(value, "dtype", None), "kind", "") == "b" and getattr(value, "ndim", 0) > 0


def broadcast_mask(selection: ast.Subscript, names: Mapping[str, Any]) -> str:
    """Write the mask of `x[mask]` so that it has as many axes as `x`, where both are known: `mask[..., None]`."""
    text = ast.unparse(selection.slice)
    axes, own = getattr(value_of(selection.value, names), "ndim", None), _ndim(selection.slice, names)
    if axes is None or own is None or own >= axes:
        return text
    return (
        f"({text})[..., {', '.join(['None'] * (axes - own))}]"
        if not text.isidentifier()
        else (f"{text}[..., {', '.join(['None'] * (axes - own))}]")
    )


def _ndim(index: ast.expr, names: Mapping[str, Any]) -> int | None:
    """Return the number of axes of a mask: the most axes of an array in it; None if that is not known."""
    if any(isinstance(node, ast.Call | ast.Subscript) for node in ast.walk(index)) and not _is_elementwise(index):
        return None
    values = [value_of(node, names) for node in ast.walk(index) if isinstance(node, ast.Name)]
    return max((value.ndim for value in values if is_array(value)), default=None)


def _is_elementwise(index: ast.expr) -> bool:
    calls = [node for node in ast.walk(index) if isinstance(node, ast.Call | ast.Subscript)]
    return all(isinstance(one, ast.Call) and is_mask(one, {}) for one in calls)


_COUNTS = {
    **dict.fromkeys(("where", "nonzero", "flatnonzero", "argwhere"), "jnp.count_nonzero({x})"),
    **dict.fromkeys(("unique", "unique_values"), "1 + jnp.count_nonzero(jnp.diff(jnp.sort(jnp.ravel({x}))))"),
}
"""Function -> the number of elements of its result, which needs no result of unknown size."""


def _counts(node: ast.AST, of: ast.expr) -> bool:
    """Return whether an expression is the number of elements of a result: `len(x)`, `x.size`, `x[0].size`, `x.shape[0]`."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[one]):
            pass
        case ast.Attribute(value=one, attr="size") | ast.Subscript(value=ast.Attribute(value=one, attr="shape")):
            pass
        case _:
            return False
    return one is of or (isinstance(one, ast.Subscript) and one.value is of)


def sized(statement: ast.stmt, failing: ast.AST) -> list[str] | None:
    """Add `size=N`, or the argument of the same meaning, to `jnp.nonzero(x)` and similar calls.

    Args:
      statement: the statement.
      failing: the part of it that raised; the whole statement if it is not known.
    """
    for node in ast.walk(statement):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and failing in (node, statement)):
            continue
        size = _SIZES.get(node.func.attr)
        has_size = any(keyword.arg == size for keyword in node.keywords)
        is_choice = node.func.attr == "where" and len(node.args) > 1
        if size and not has_size and not is_choice:
            counted = next((one for one in ast.walk(statement) if _counts(one, node)), None)
            if isinstance(counted, ast.expr):
                new = (
                    {counted: _COUNTS[node.func.attr].format(x=ast.unparse(node.args[0]))}
                    if node.func.attr in _COUNTS
                    else {}
                )
                return ast.unparse(ast.fix_missing_locations(replaced(statement, new))).splitlines() if new else None
            call = ast.Call(node.func, node.args, [*node.keywords, ast.keyword(size, ast.Name("N"))])
            return ast.unparse(ast.fix_missing_locations(replaced(statement, {node: ast.unparse(call)}))).splitlines()
    return None
