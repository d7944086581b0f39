"""What `jax.jvp(jax.value_and_grad(f), …)` gives: value and gradient, and the tangents of both."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from jax_debug_widgets._jax.frames import PUSHING
from jax_debug_widgets.watch.body import Body, Call, Made, is_array
from jax_debug_widgets.watch.classes import last_name
from jax_debug_widgets.watch.escaping import what_escapes
from jax_debug_widgets.watch.inlined import Inlined
from jax_debug_widgets.watch.parts import made_by
from jax_debug_widgets.watch.source import Statement, Target


def pushed(body: Body, call: Call, statement: Statement, members: list[int]) -> list[tuple[str, Made]]:
    """Each name of `(value, gradient), tangents = jax.jvp(...)` with its variable; none where not all are told.

    The value is of the forward pass, the gradient of the backward pass; a tangent is what hangs on the tangents given.
    """
    parts = _names(statement)
    if not parts or any(body.levels[one][call.depth].differentiates != PUSHING for one in members):
        return []
    inputs = _tangents_given(body, call, statement)
    escaping = [one for one in what_escapes(body, members, call.depth) if is_array(one[0])]
    hanging = _hanging_on(body, members, inputs)
    found = {}
    for one in escaping:
        name = parts[one[0] in hanging][bool(body.uses.transposed[one[1]])]
        found.setdefault(name, []).append(one)
    if not inputs or any(len(own) > 1 for own in found.values()):
        return []
    return [(name, own[0]) for name, own in found.items()]


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


def _tangents_given(body: Body, call: Call, statement: Statement) -> set[Any]:
    """The variables that are given as tangents; none where one of them is not known."""
    function, node = statement.function, statement.value
    given = node.args[2] if isinstance(node, ast.Call) else None
    if function is None or not isinstance(given, ast.Tuple | ast.List):
        return set()
    everywhere = set(range(len(body.equations)))
    found = []
    for element in given.elts:
        own = [one[0] for one in made_by(body, element, Inlined(function, call.file, call.outer), everywhere)]
        if isinstance(element, ast.Name) and not call.depth:
            told = zip(body.argument_names, body.jaxpr.invars, strict=False)
            own += [variable for name, variable in told if name == element.id]
        found.append(set(own))
    return set().union(*found) if all(len(own) == 1 for own in found) else set()


def _hanging_on(body: Body, members: Sequence[int], inputs: set[Any]) -> set[Any]:
    """What these equations compute of these variables."""
    found = set(inputs)
    for number in members:
        equation = body.equations[number]
        if any(is_array(atom) and atom in found for atom in equation.invars):
            found.update(equation.outvars)
    return found
