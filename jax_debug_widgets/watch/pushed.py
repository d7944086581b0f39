"""What `jax.jvp(jax.value_and_grad(f), …)` gives: value and gradient, and the tangents of both."""

from __future__ import annotations

import ast

from jax_debug_widgets._jax.frames import PUSHING
from jax_debug_widgets.watch.body import Body, Call, Made, is_array
from jax_debug_widgets.watch.classes import last_name
from jax_debug_widgets.watch.derivatives import parts_beside_values
from jax_debug_widgets.watch.escaping import what_escapes
from jax_debug_widgets.watch.source import Statement, Target


def pushed(body: Body, call: Call, statement: Statement, members: list[int]) -> list[tuple[str, Made]]:
    """Each name of `(value, gradient), tangents = jax.jvp(...)` with its variable; none where not all are told.

    The value is of the forward pass, the gradient of the backward pass.
    """
    parts = _names(statement)
    if not parts or any(body.levels[one][call.depth].differentiates not in (PUSHING, "") for one in members):
        return []
    made = [one for one in what_escapes(body, members, call.depth) if is_array(one[0])]
    found: dict[str, list[Made]] = {}
    for is_tangent, own in enumerate(parts_beside_values(body, made, call.depth)):
        for one in own:
            pushed = body.makers.get(body.equations[one[1]].invars[0]) if is_tangent else one
            is_of_gradient = pushed is not None and body.uses.transposed[pushed[1]] > 0
            found.setdefault(parts[is_tangent][is_of_gradient], []).append(one)
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
