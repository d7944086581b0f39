"""What `jax.jvp(jax.value_and_grad(f), …)` gives: value and gradient, and the tangents of both."""

from __future__ import annotations

import ast

from jax_debug_widgets._jax.copies import leaf_given_back
from jax_debug_widgets.watch.body import Body, Call, Made, is_array
from jax_debug_widgets.watch.classes import last_name
from jax_debug_widgets.watch.derivatives import parts_given_back
from jax_debug_widgets.watch.escaping import what_escapes
from jax_debug_widgets.watch.source import Statement, Target


def pushed(body: Body, call: Call, statement: Statement, members: list[int]) -> list[tuple[str, Made]]:
    """Each name of `(value, gradient), tangents = jax.jvp(...)` with its variable; none where not all are told.

    The value is the first leaf.
    """
    names = _names(statement)
    made = [one for one in what_escapes(body, members, call.depth) if is_array(one[0])] if names else []
    found: dict[str, list[Made]] = {}
    for own, part in zip(names, parts_given_back(body, made, call.depth), strict=False):
        for one in part:
            leaf = leaf_given_back(body.equations[one[1]])
            found.setdefault(own[leaf is not None and leaf.number > 0], []).append(one)
    return [(name, own[0]) for name, own in found.items()] if all(len(own) == 1 for own in found.values()) else []


def _names(statement: Statement) -> list[list[str]]:
    """The names of value and gradient, and of their tangents, where the statement is of that form."""
    node, targets = statement.value, statement.targets
    pairs = [_pair(part) for part in targets[0].parts] if len(targets) == 1 else []
    if len(pairs) != len(("value", "tangent")) or not all(pairs) or not isinstance(node, ast.Call):
        return []
    function = node.args[0] if len(node.args) == len(("f", "values", "tangents")) else None
    if not isinstance(function, ast.Call) or function.keywords:
        return []
    return pairs if last_name(function.func) == "value_and_grad" else []


def _pair(target: Target) -> list[str]:
    """What value and gradient are called that go to a target, or their tangents; nothing where they cannot be told."""
    if target.is_plain:
        return [f"{target.text}[0]", f"{target.text}[1]"]
    is_pair = len(target.parts) == len(("value", "gradient")) and all(one.is_plain for one in target.parts)
    return [one.text for one in target.parts] if is_pair and "*" not in target.text else []
