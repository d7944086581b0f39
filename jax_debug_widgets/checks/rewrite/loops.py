"""Rewrite a `while`, or a `for` over `range`, as a loop of `jax.lax`."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from jax_debug_widgets.checks.rewrite.choices import can_be_traced
from jax_debug_widgets.checks.rewrite.expressions import computed, condition
from jax_debug_widgets.checks.rewrite.names import assigned_in, has_jump, is_read_first, read_in, state_of, unused

_BOUNDS = 2


def while_loop(statement: ast.While, after: Sequence[ast.stmt], names: Mapping[str, Any]) -> list[str] | None:
    """Rewrite a `while` with a traced condition; the names that it changes become the loop's state.

    Args:
      statement: the loop.
      after: the statements that follow the loop in its block.
      names: the variables of its frame, which tell the names that exist before the loop.

    Returns:
      None if no rewrite is certain.
    """
    state = _state(statement.body, (statement.test, *after), names)
    if not state or statement.orelse or has_jump(statement.body):
        return None
    given, used = state_of(state), (names, read_in(statement), assigned_in(statement.body))
    unfinished, body, packed = (unused(name, *used) for name in ("unfinished", "body", "state"))
    return [
        *_function(f"{unfinished}({{}})", state, packed, [f"return {condition(statement.test, names)}"]),
        *_function(f"{body}({{}})", state, packed, [*_lines(statement.body), f"return {given}"]),
        f"{', '.join(state)} = jax.lax.while_loop({unfinished}, {body}, {given})",
    ]


def for_loop(statement: ast.For, after: Sequence[ast.stmt], names: Mapping[str, Any]) -> list[str] | None:
    """Rewrite `for i in range(n)` with a traced `n`; the arguments are those of `while_loop`."""
    call = statement.iter
    if not (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "range"
        and 1 <= len(call.args) <= _BOUNDS
        and isinstance(statement.target, ast.Name)
    ):
        return None
    counter = statement.target.id
    state = [name for name in _state(statement.body, after, names) or () if name != counter]
    if not state or statement.orelse or has_jump(statement.body) or counter in read_in(*after):
        return None
    low, high = ("0", *(computed(one, names) for one in call.args))[-2:]
    given, used = state_of(state), (names, read_in(statement), assigned_in(statement.body))
    body, packed = unused("body", *used), unused("state", *used)
    return [
        *_function(f"{body}({counter}, {{}})", state, packed, [*_lines(statement.body), f"return {given}"]),
        f"{', '.join(state)} = jax.lax.fori_loop({low}, {high}, {body}, {given})",
    ]


def _state(block: Sequence[ast.stmt], later: Sequence[ast.AST], names: Mapping[str, Any]) -> list[str] | None:
    """Return the names that a loop carries, sorted: not those that each step makes anew, for itself.

    Returns:
      None if a name read later does not exist before the loop, or has a value that no loop can carry.
    """
    read = read_in(*later)
    changed = {name for name in assigned_in(block) if name in read or is_read_first(block, name)}
    carried = sorted(name for name in changed if name in names)
    is_known = not (changed - set(carried)) & read
    return carried if is_known and all(can_be_traced(ast.Name(name), names) for name in carried) else None


def _function(head: str, state: Sequence[str], packed: str, lines: Sequence[str]) -> list[str]:
    """Return the lines of a function of the state, whose name and arguments are `head` with `{}` for the state.

    A state with several parts has the name `packed`, and is unpacked.
    """
    given = state[0] if len(state) == 1 else packed
    unpacking = [] if len(state) == 1 else [f"{', '.join(state)} = {packed}"]
    return [f"def {head.format(given)}:", *(f"    {line}" for line in (*unpacking, *lines))]


def _lines(block: Sequence[ast.stmt]) -> list[str]:
    return [line for statement in block for line in ast.unparse(statement).splitlines()]
