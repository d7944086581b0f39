"""Rewrite an `if` on a traced value as `jnp.where` or `jax.lax.cond`."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from jax_debug_widgets.checks.rewrite.choices import can_be_traced, choice
from jax_debug_widgets.checks.rewrite.expressions import condition
from jax_debug_widgets.checks.rewrite.names import assigned_in, has_jump, read_in, state_of, values_in


def branch(statement: ast.If, after: Sequence[ast.stmt], names: Mapping[str, Any]) -> list[str] | None:
    """Rewrite an `if`; return None if no rewrite is certain.

    Assignments of the same names in both branches, and returns, become choices, see `choice`. Other bodies become
    functions for `jax.lax.cond`, if their names exist before the `if` or are assigned in both branches.

    Args:
      statement: the `if`.
      after: the statements that follow the `if` in its block.
      names: the variables of its frame.
    """
    test = condition(statement.test, names)
    chosen = _chosen(statement, names)
    if chosen is not None:
        return [f"{name} = {ast.unparse(value)}" for name, value in chosen.items()]
    then = _returned(statement.body)
    other = _returned(statement.orelse) or (_returned(after[:1]) if not statement.orelse else None)
    if then and other:
        value = choice(test, then, other, names)
        return [f"return {value}"] if value else None
    if has_jump([*statement.body, *statement.orelse]):
        return None
    return _cond(statement, test, after, names)


def _chosen(statement: ast.If, names: Mapping[str, Any]) -> dict[str, ast.expr] | None:
    """Map names to expressions that choose their values; None if the branches do more than assign the same names."""
    then, other = _assignments(statement.body), _assignments(statement.orelse)
    if len(statement.orelse) == 1 and isinstance(statement.orelse[0], ast.If):
        other = _chosen(statement.orelse[0], names)
    if not then or other is None or (statement.orelse and set(then) != set(other)):
        return None
    if not then.keys() <= {*other, *names}:
        return None
    if len(then) > 1 and any(name in read_in(statement.test) for name in then):
        return None  # The test in the second line would read what the first line assigns.
    test = condition(statement.test, names)
    chosen = {name: choice(test, value, other.get(name, ast.Name(name)), names) for name, value in then.items()}
    texts = {name: text for name, text in chosen.items() if text}
    return {name: ast.parse(text, mode="eval").body for name, text in texts.items()} if texts == chosen else None


def _assignments(block: Sequence[ast.stmt]) -> dict[str, ast.expr] | None:
    """Map names to expressions if a block assigns each name once and reads none that it has assigned; else None."""
    values: dict[str, ast.expr] = {}
    for statement in block:
        if isinstance(statement, ast.Pass):
            continue
        if read_in(statement) & values.keys():
            return None
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            name, value = statement.target.id, ast.BinOp(statement.target, statement.op, statement.value)
        elif (
            isinstance(statement, ast.Assign)
            and len(statement.targets) == 1
            and isinstance(statement.targets[0], ast.Name)
        ):
            name, value = statement.targets[0].id, statement.value
        else:
            return None
        if name in values:
            return None
        values[name] = value
    return values


def _returned(block: Sequence[ast.stmt]) -> ast.expr | None:
    if len(block) == 1 and isinstance(block[0], ast.Return) and block[0].value is not None:
        return block[0].value
    return None


def _cond(statement: ast.If, test: str, after: Sequence[ast.stmt], names: Mapping[str, Any]) -> list[str] | None:
    both = assigned_in(statement.body) & assigned_in(statement.orelse)
    changed = assigned_in([*statement.body, *statement.orelse])
    known = {name for name in changed if name in names}
    results, given = sorted(known | both), sorted(known)
    if not results or (changed - set(results)) & read_in(*after):
        return None
    values = [*map(ast.Name, known), *values_in([*statement.body, *statement.orelse])]
    if not all(can_be_traced(value, names) for value in values):
        return None
    returned = state_of(results)
    return [
        f"def then({', '.join(given)}):",
        *_indented(statement.body),
        f"    return {returned}",
        f"def otherwise({', '.join(given)}):",
        *_indented(statement.orelse),
        f"    return {returned}",
        f"{', '.join(results)} = jax.lax.cond({', '.join([test, 'then', 'otherwise', *given])})",
    ]


def _indented(block: Sequence[ast.stmt]) -> list[str]:
    return [f"    {line}" for statement in block for line in ast.unparse(statement).splitlines()]
