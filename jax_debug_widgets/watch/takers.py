"""What takes a variable of a program, in the source: a range of the function that holds its name, or what that returns."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from jax_debug_widgets._jax import versions
from jax_debug_widgets._jax.frames import Level
from jax_debug_widgets.watch.body import Body, Call, outer_of
from jax_debug_widgets.watch.classes import Fields, last_name
from jax_debug_widgets.watch.literals import parts_of
from jax_debug_widgets.watch.mentions import is_part, loads_of
from jax_debug_widgets.watch.source import Function, SourceFile, Span, Statement, Target, span_of

_STEP = re.compile(r"\[(\d+|'[^']*')\]|\.\w+")


class Taken(NamedTuple):
    """What takes a variable.

    Attributes:
      span: a range of the function that holds the name, which of what is returned; `None` if it is elsewhere.
      path: of what is returned, which part of that range's value: `['w']`.
      is_value: whether it is what that range computes, the operand of an operator, and not what takes it.
    """

    span: Span | None
    path: str = ""
    is_value: bool = False


def takers_of(body: Body, call: Call, variable: Any, inside: set[int]) -> Iterator[Taken]:
    """What takes a variable that the equations `inside` make at a place."""
    for number in body.uses.consumers.get(variable, ()):
        if number in inside or body.is_backward(number, call.depth):
            continue
        levels = body.levels[number]
        is_around = len(levels) > call.depth and outer_of(levels[: call.depth]) == call.outer
        is_here = is_around and levels[call.depth].file == call.file
        yield _taken_by(body, number, call.depth, variable) if is_here else Taken(None)
    for position in body.uses.results.get(variable, ()):
        if not body.is_state(position):
            yield _returned_at(body, call, position, inside)


_OPERATIONS = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
    ast.MatMult: "dot_general",
}
"""What an operator of Python's computes of two arrays, in their order."""

_SHAPED = frozenset({"broadcast_in_dim", "convert_element_type", "reshape"})
"""And what it does with one of them before that."""


def _taken_by(body: Body, number: int, depth: int, variable: Any) -> Taken:
    """The range of frame `depth` in which an equation takes a variable; of `a * b` that of the one operand that it is."""
    equation, levels = body.equations[number], body.levels[number]
    whole = Span(*levels[depth].span)
    node = body.source(levels[depth].file).expressions.get(whole)
    if not isinstance(node, ast.BinOp) or len(levels) > depth + 1:
        return Taken(whole)
    if equation.primitive.name in _SHAPED:
        (shaped,) = equation.outvars
        users = [one for one in body.uses.consumers.get(shaped, ()) if body.levels[one] == levels]
        taken = {_taken_by(body, one, depth, shaped) for one in users}
        return taken.pop() if len(taken) == 1 else Taken(whole)
    is_operator = equation.primitive.name == _OPERATIONS.get(type(node.op))
    sides = [side for side, one in zip((node.left, node.right), equation.invars, strict=False) if one is variable]
    return Taken(span_of(sides[0]), is_value=True) if is_operator and len(sides) == 1 else Taken(whole)


def _returned_at(body: Body, call: Call, position: int, inside: set[int]) -> Taken:
    """The range after `return` that gives one result of the body, in the function that holds the name."""
    taken, is_told = _returned_by_program(body, position)
    if not call.depth:
        return taken
    if not is_told or not inside:
        return Taken(None)
    levels = body.levels[min(inside)]
    if len(levels) <= call.depth or not body.is_own(levels[0]):
        return Taken(None)
    for own, inner in pairwise(levels[: call.depth + 1]):
        within = _in_what_is_called(body.source(own.file), Span(*own.span), taken)
        function = _called_by(body, own, inner)
        if within is None or function is None:
            return Taken(None)
        node, path = _at_path(function.returns[0].value, within, body.source(inner.file).fields)
        taken = Taken(span_of(node), path)
    return taken


def _called_by(body: Body, own: Level, inner: Level) -> Function | None:
    """The function of frame `inner`, where frame `own` calls it by its name and it has one `return`."""
    node = body.source(own.file).expressions.get(Span(*own.span))
    function = body.source(inner.file).function_at(inner.code_line, inner.function)
    if not own.calls_directly or function is None or not isinstance(node, ast.Call):
        return None
    name = last_name(node.func)
    is_it = name == function.name.rpartition(".")[2] == inner.function.rpartition(".")[2]
    return function if is_it and len(function.returns) == 1 else None


def _in_what_is_called(source: SourceFile, call: Span, taken: Taken) -> str | None:
    """Where a part of what a function returns is in what a call has given, `[1]['w']`; None where that cannot be told."""
    if taken.span and taken.span.contains(call):
        place = _place_after(source.expressions.get(taken.span), call)
        return None if place is None else place + taken.path
    found = {
        place + load.text.removeprefix(text) + taken.path
        for statement in source.statements_at(call)
        for target in statement.targets
        for text, place in _places_in(target)
        for load in (
            loads_of(statement.function, statement, text) if statement.function and not statement.whole else ()
        )
        if load.span == taken.span and load.has(taken.path)
    }
    return found.pop() if len(found) == 1 else None


def _place_after(node: ast.expr | None, call: Span) -> str | None:
    """Which part of what a call gives an expression is: `[0]` for `f(x)[0]`; None where it is none."""
    place = ""
    while node is not None and span_of(node) != call:
        if not isinstance(node, ast.Attribute | ast.Subscript):
            return None
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            return None
        place = ast.unparse(node).removeprefix(ast.unparse(node.value)) + place
        node = node.value
    return None if node is None else place


def _places_in(target: Target, place: str = "") -> Iterator[tuple[str, str]]:
    """Each name of a target, and where in the value it is: `b` is `[1]` in `a, b = ...`."""
    if target.is_plain:
        yield target.text, place
    for number, part in enumerate(target.parts):
        if part.text.startswith("*"):
            return
        yield from _places_in(part, f"{place}[{number}]")


def _returned_by_program(body: Body, position: int) -> tuple[Taken, bool]:
    """The range after the `return` of the body's function, and whether JAX tells the way to the result from there on."""
    function = body.function
    if function is None or len(function.returns) != 1:
        return Taken(None), False
    node, count = function.returns[0].value, len(body.jaxpr.outvars)
    path = body.result_path(position)
    if path is not None:
        node, path = _at_path(node, path, body.source(body.origin[0]).fields)
        return Taken(span_of(node), path), True
    if body.jaxpr.debug_info.traced_for == "fori_loop":
        return Taken(None), False
    equation: Any = body.around.equation
    # Differentiated, what nothing uses is left out, and what the derivative needs is added: there may be as many by chance.
    is_complete = "jvp(" not in str(body.place.stack)
    if equation is not None and equation.primitive.name == "scan" and isinstance(node, ast.Tuple):
        _, carried = versions.scan_counts(equation.params)
        is_carry = position < carried
        if len(node.elts) != len(("carry", "y")):
            return Taken(None), False
        node = node.elts[0 if is_carry else 1]
        position, count = (position, carried) if is_carry else (position - carried, count - carried)
        is_complete |= is_carry
    if isinstance(node, ast.Tuple) and len(node.elts) == count and is_complete:
        node = node.elts[position]
    return Taken(span_of(node)), False


def place_in_return(source: SourceFile, call: Call, statement: Statement, name: str) -> str | None:
    """Where a value of this name is in what its function returns, `[1]['w']` of `grads['w']`; None where that is not told."""
    function = statement.function
    if call.depth or function is None or len(function.returns) != 1:
        return None
    found = {
        place + name.removeprefix(load.text)
        for place, span in _parts_in(function.returns[0].value, source.fields)
        for target in statement.targets
        for text, _ in _places_in(target)
        if is_part(name, text)
        for load in loads_of(function, statement, text)
        if load.span == span and is_part(name, load.text) and load.has(name.removeprefix(text))
    }
    return found.pop() if len(found) == 1 else None


def _parts_in(node: ast.expr, fields: Fields, place: str = "") -> Iterator[tuple[str, Span]]:
    parts = parts_of(node, fields)
    for one in parts:
        yield from _parts_in(one.value, fields, place + one.path)
    if not parts:
        yield place, span_of(node)


def _at_path(node: ast.expr, path: str, fields: Fields) -> tuple[ast.expr, str]:
    """The part of a literal at `[1]['loss']`, as far as it is one, and the rest of the path."""
    while step := _STEP.match(path):
        elements = dict(parts_of(node, fields))
        if step[0] not in elements:
            break
        node, path = elements[step[0]], path[step.end() :]
    return node, path
