"""Which part of what is assigned a variable of the program is: of a tuple, a tree, what a function returned."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from jax_debug_widgets.watch.body import Body, Call, Made, is_array
from jax_debug_widgets.watch.derivatives import differentiating, parts_of_derivative
from jax_debug_widgets.watch.loads import field_of, parts_by_use
from jax_debug_widgets.watch.source import Function, Statement, Target, span_of


def assigned(
    body: Body, call: Call, statement: Statement, members: list[int], calls: dict[Call, list[int]]
) -> Iterator[tuple[str, Made]]:
    """Each name of a statement with the variable of one execution of it."""
    escaping = [one for one in body.escaping(members, call.depth) if is_array(one[0])]
    if not escaping:
        return
    if statement.is_return and len(escaping) == 1:
        yield body.source(call.file).text(call.span), escaping[0]
    for target in statement.targets:
        if target.is_plain:
            parts = [(target, _whole(body, escaping, set(members)))]
        elif any(part.text.startswith("*") for part in target.parts):
            continue
        else:
            made = _taken_apart(body, call, statement, target, escaping, members, calls)
            parts = list(zip(target.parts, made, strict=False))
        for part, made in parts:
            yield from _leaves(body, call, statement, part, made, set(members), calls)


def _whole(body: Body, escaping: list[Made], inside: set[int]) -> list[Made]:
    """What one target stands for: a value, or the leaves of a tree in its order."""
    if len({number for _, number, _ in escaping}) == 1:
        return escaping
    return _in_order_of_use(body, _without_tangents(body, escaping), inside)


def _taken_apart(
    body: Body,
    call: Call,
    statement: Statement,
    target: Target,
    escaping: list[Made],
    members: list[int],
    calls: dict[Call, list[int]],
) -> list[list[Made]]:
    """What each part of a tuple target stands for; nothing where the parts cannot be told."""
    count, inside = len(target.parts), set(members)
    if len({number for _, number, _ in escaping}) == 1:
        return _results_of(body, escaping, count)
    by = differentiating(body, members[0], call.depth)
    found = None if by else _returned(body, call, members, count, calls)  # What differentiates gives other things.
    if found and any(found):
        return found
    forward, backward = (
        _in_order_of_use(body, [one for one in escaping if bool(body.uses.transposed[one[1]]) is is_backward], inside)
        for is_backward in (False, True)
    )
    derived = parts_of_derivative(by, statement, target, forward, backward)
    if derived:
        return derived
    used = parts_by_use(body, call, statement, target, [one[0] for one in escaping], inside)
    if used:
        parts = [[one for one in escaping if used.get(one[0]) == number] for number in range(count)]
        return [_in_order_of_use(body, part, inside) for part in parts]
    return [[one] for one in escaping] if count == len(escaping) else []


def _leaves(
    body: Body,
    call: Call,
    statement: Statement,
    target: Target,
    made: Sequence[Made],
    inside: set[int],
    calls: dict[Call, list[int]],
) -> Iterator[tuple[str, Made]]:
    """The names of what goes to one target: of several the leaves of a tree, by field or in order."""
    variables = [variable for variable, _, _ in made]
    if target.parts:
        used = parts_by_use(body, call, statement, target, variables, inside)
        if len(used) < len(made):
            used = dict(zip(variables, range(len(made)), strict=True)) if len(target.parts) == len(made) else {}
        for number, part in enumerate(target.parts):
            own = [one for one in made if used.get(one[0]) == number]
            yield from _leaves(body, call, statement, part, own, inside, calls)
        return
    fields = [field_of(body, call, statement, target.text, variable, inside, calls) for variable in variables]
    for index, (one, field) in enumerate(zip(made, fields, strict=True)):
        if field is not None and fields.count(field) == 1:
            yield field, one
        else:
            yield target.text if len(made) == 1 else f"{target.text}[{index}]", one


def _results_of(body: Body, escaping: Sequence[Made], count: int) -> list[list[Made]]:
    """The results of one equation for each of `count` parts of a target."""
    equation = body.equations[escaping[0][1]]
    escapes = {position: one for one in escaping for position in [one[2]]}
    results = len(equation.outvars)
    if equation.primitive.name == "scan" and count == len(("carry", "ys")):
        carried = equation.params["num_carry"]
        return [
            [escapes[i] for i in range(start, stop) if i in escapes]
            for start, stop in ((0, carried), (carried, results))
        ]
    # What JAX carries itself, the counter of a `fori_loop`, comes first.
    first = results - count if equation.primitive.name == "while" else 0
    if count == results - first:
        return [[escapes[i]] if i in escapes else [] for i in range(first, results)]
    return [[one] for one in escaping] if count == len(escaping) else []


def _without_tangents(body: Body, escaping: list[Made]) -> list[Made]:
    """Of a value and its tangent (`jax.jvp`) the value, which JAX computes first."""
    first, *rest = escaping
    if len(rest) == 1 and "jvp" in body.stack_of(first[1]) and str(first[0].aval) == str(rest[0][0].aval):
        return [first]
    return escaping


def _in_order_of_use(body: Body, made: Sequence[Made], inside: set[int]) -> list[Made]:
    """Leaves of a tree in the order in which others take them: that is the tree's."""

    def first_use(one: Made) -> tuple[int, int]:
        users = [number for number in body.uses.consumers.get(one[0], ()) if number not in inside]
        results = body.uses.results.get(one[0], ())
        return (min(users, default=len(body.equations)), min(results, default=0))

    return sorted(made, key=first_use)


def _returned(
    body: Body, call: Call, members: list[int], count: int, calls: dict[Call, list[int]]
) -> list[list[Made]] | None:
    """What an inlined function returned: the variable of each element of the tuple after its `return`."""
    levels = body.levels[members[0]]
    if len(levels) <= call.depth + 1:
        return None
    inner = levels[call.depth + 1]
    if any(len(body.levels[one]) <= call.depth + 1 for one in members):
        return None
    function = body.source(inner.file).function_at(inner.code_line, inner.function)
    if function is None:
        return None
    outer = (*call.outer, (call.file, tuple(call.span)))
    for returned in reversed(function.returns):
        value = returned.value
        if isinstance(value, ast.Tuple) and len(value.elts) == count:
            return [_made_by(body, element, inner.file, function, outer, set(members), calls) for element in value.elts]
    return None


def _made_by(
    body: Body,
    node: ast.expr,
    file: str,
    function: Function,
    outer: Any,
    within: set[int],
    calls: dict[Call, list[int]],
) -> list[Made]:
    """The variable that an expression in a function stands for."""
    spans = [span_of(node)]
    if isinstance(node, ast.Name):
        spans = [
            one.span
            for one in reversed(function.statements)
            if any(target.is_plain and target.text == node.id for target in one.targets)
        ]
    for span in spans:
        call = Call(outer, file, span)
        members = [one for one in calls.get(call, ()) if one in within and not body.is_backward(one, call.depth)]
        escaping = [one for one in body.escaping(members, call.depth) if is_array(one[0])] if members else []
        if escaping:
            return _in_order_of_use(body, _without_tangents(body, escaping), set(members))
    return []
