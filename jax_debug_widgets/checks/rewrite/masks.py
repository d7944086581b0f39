"""Rewrite code with shapes that depend on values: `x[mask].sum()`, `jnp.nonzero(x)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from jax_debug_widgets.checks.rewrite.expressions import replace

_NEUTRAL = {"sum": "0", "prod": "1", "max": "-jnp.inf", "min": "jnp.inf", "any": "False", "all": "True"}
"""Each reduction and its neutral element, which does not change its result."""

_BY_WHERE = ("mean", "std", "var")
"""The reductions that take `where=`."""

_SIZED = ("nonzero", "flatnonzero", "argwhere", "unique", "where", "union1d", "intersect1d", "setdiff1d")
"""The functions of `jax.numpy` that take `size=`."""


def boolean_mask(statement: ast.stmt, block: Sequence[ast.stmt]) -> list[str] | None:
    """Rewrite `x[mask]` if it is reduced in this statement or a later one; else return None.

    Args:
      statement: the statement.
      block: the statements that follow.
    """
    for node in ast.walk(statement):
        if not (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)):
            continue
        array, mask = ast.unparse(node.value), ast.unparse(node.slice)
        for call, name in _reductions(statement, node):
            return ast.unparse(
                ast.fix_missing_locations(replace(statement, call, _reduced(array, mask, name)))
            ).splitlines()
        if isinstance(statement, ast.Assign) and statement.value is node and isinstance(statement.targets[0], ast.Name):
            return _reduced_later(statement.targets[0].id, array, mask, block)
    return None


def _reduced_later(name: str, array: str, mask: str, block: Sequence[ast.stmt]) -> list[str] | None:
    uses = [node for later in block for node in ast.walk(later) if isinstance(node, ast.Name) and node.id == name]
    reduced = {reduction: call for later in block for node in uses for call, reduction in _reductions(later, node)}
    if len(uses) != 1 or len(reduced) != 1:
        return None  # The selection has other uses, such as its length.
    ((reduction, call),) = reduced.items()
    if reduction in _NEUTRAL:
        return [f"{name} = jnp.where({mask}, {array}, {_NEUTRAL[reduction]})"]
    return [f"{_reduced(array, mask, reduction)}  # in place of {ast.unparse(call)}, without this line"]


def _reductions(statement: ast.stmt, of: ast.expr) -> Iterator[tuple[ast.Call, str]]:
    """Yield each call that reduces `of` to one number (`of.sum()`, `jnp.sum(of)`), and the reduction's name."""
    for node in ast.walk(statement):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)) or node.keywords:
            continue
        name = node.func.attr
        if name not in (*_NEUTRAL, *_BY_WHERE):
            continue
        if (node.func.value is of and not node.args) or (len(node.args) == 1 and node.args[0] is of):
            yield node, name


def _reduced(array: str, mask: str, name: str) -> str:
    if name in _BY_WHERE:
        return f"jnp.{name}({array}, where={mask})"
    return f"jnp.where({mask}, {array}, {_NEUTRAL[name]}).{name}()"


def sized(statement: ast.stmt) -> list[str] | None:
    """Add `size=N` to `jnp.nonzero(x)` and similar calls."""
    for node in ast.walk(statement):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        has_size = any(keyword.arg == "size" for keyword in node.keywords)
        is_choice = node.func.attr == "where" and len(node.args) > 1
        if node.func.attr in _SIZED and not has_size and not is_choice:
            call = ast.Call(node.func, node.args, [*node.keywords, ast.keyword("size", ast.Name("N"))])
            return ast.unparse(ast.fix_missing_locations(replace(statement, node, ast.unparse(call)))).splitlines()
    return None
