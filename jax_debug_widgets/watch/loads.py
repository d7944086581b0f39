"""What the source does with a name after it is assigned: that tells which variable of the program it stands for.

`state, info = sampler.step(key, state)` runs a library in which the two have come together in ways that no reader of source
can follow. But what `info.energy * 2` takes of it is `info.energy`, and what is only returned is of `state`.
"""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax

from jax_debug_widgets._jax import versions
from jax_debug_widgets.watch.body import Body, Call, outer_of
from jax_debug_widgets.watch.classes import Fields
from jax_debug_widgets.watch.literals import STATIC_ATTRIBUTES, parts_of, replaced_in
from jax_debug_widgets.watch.source import Function, Span, Statement, Target, span_of

_STEP = re.compile(r"\[(\d+|'[^']*')\]|\.\w+")


class Load(NamedTuple):
    """A use of a name: the range of `info.energy`, its text, and whether the name alone is used.

    Attributes:
      replaced: the fields that it has not from there any more, `.energy`: it is what `info.replace(energy=...)` gives.
    """

    span: Span
    text: str
    is_bare: bool
    replaced: tuple[str, ...] = ()

    def has(self, path: str) -> bool:
        """Whether a part of it is that part of what the name was assigned."""
        return not any(path == field or path.startswith((f"{field}.", f"{field}[")) for field in self.replaced)


class Taken(NamedTuple):
    """What takes a variable.

    Attributes:
      span: a range of the function that holds the name, which of what is returned; `None` if it is elsewhere.
      path: of what is returned, which part of that range's value: `['w']`.
    """

    span: Span | None
    path: str = ""


def parts_by_use(
    body: Body, call: Call, statement: Statement, target: Target, variables: Sequence[Any], inside: set[int]
) -> dict[Any, int]:
    """Each variable with the number of the part of a tuple target that it belongs to, where the uses of the parts tell.

    Args:
      variables: what the statement makes and others use.
      inside: the equations of the statement.
    """
    if statement.function is None:
        return {}
    loads = [
        [one for text in texts_of(part) for one in _loads(statement.function, statement, text)] for part in target.parts
    ]
    returned = [_is_returned(statement.function, own) for own in loads]
    found: dict[Any, int] = {}
    for variable in variables:
        candidates = set(range(len(loads)))
        for taken in _takers(body, call, variable, inside):
            candidates &= {
                number
                for number, own in enumerate(loads)
                if (returned[number] if taken.span is None else any(taken.span.contains(one.span) for one in own))
            }
        if len(candidates) == 1:
            found[variable] = candidates.pop()
    return found


def fields_of(
    body: Body,
    call: Call,
    statement: Statement,
    name: str,
    variables: Sequence[Any],
    inside: set[int],
) -> list[str | None]:
    """Of each variable of the tree `info` what the source says of it, `info.energy`, where it does."""
    if statement.function is None:
        return [None] * len(variables)
    loads = _loads(statement.function, statement, name)
    # An array's own items and properties (`x[0]`, `x.T`) are operations, which have that very range.
    loads = [one._replace(is_bare=one.is_bare or Call(call.outer, call.file, one.span) in body.calls) for one in loads]
    takers = [list(_takers(body, call, variable, inside)) for variable in variables]
    if len(variables) == 1:  # Of what is no tree JAX may say `result[0]`.
        takers = [[Taken(one.span) for one in own] for own in takers]
    fields = [_fields(loads, own) for own in takers]
    if len(set[str]().union(*fields)) == len(variables):  # Each has one: what is another's is not its own.
        for _ in variables:
            told = [one for one in fields if len(one) == 1]
            fields = [one if len(one) == 1 else one.difference(*told) for one in fields]
    return [one.pop() if len(one) == 1 else None for one in fields]


def _fields(loads: Sequence[Load], takers: Sequence[Taken]) -> set[str]:
    """What a variable may be, by the ranges that take it."""
    found: set[str] | None = None
    for taken in takers:
        here = [one for one in loads if taken.span is not None and taken.span.contains(one.span)]
        if taken.path and [one.span for one in here] == [taken.span]:
            if not here[0].has(taken.path):
                continue
            texts = {here[0].text + taken.path}
        elif not here or any(one.is_bare for one in here):
            continue  # It may be any.
        else:
            texts = {one.text for one in here}
        found = texts if found is None else _both(found, texts)
    return found or set()


def _both(some: set[str], others: set[str]) -> set[str]:
    """What both say of a variable: of `state.params` and `state.params['w']` the latter, which is a part of the former."""
    pairs = [sorted(pair, key=len) for pair in itertools.product(some, others)]
    return {part for whole, part in pairs if whole == part or part.startswith((f"{whole}.", f"{whole}["))}


def is_called(statement: Statement, name: str) -> bool:
    """Whether the source calls what is assigned to a name: a function, which may hold what was computed with it."""
    after = tuple(statement.span[2:])
    calls = _called_in(statement.function) if statement.function else ()
    return any(own == name and tuple(span[:2]) >= after for own, span in calls)


@functools.lru_cache(maxsize=1024)
def _called_in(function: Function) -> tuple[tuple[str, Span], ...]:
    calls = (node for node in ast.walk(function.node) if isinstance(node, ast.Call))
    return tuple((node.func.id, span_of(node)) for node in calls if isinstance(node.func, ast.Name))


def is_taken_apart(statement: Statement, name: str) -> bool:
    """Whether the source takes parts of what is assigned to a name: `out[0]`, `loss, aux = out`."""
    if statement.function is None:
        return False
    unpacked = any(
        ast.unparse(other.value) == name and any(target.parts for target in other.targets)
        for other in statement.function.statements
    )
    return unpacked or not all(one.is_bare for one in _loads(statement.function, statement, name))


def _takers(body: Body, call: Call, variable: Any, inside: set[int]) -> Iterator[Taken]:
    for number in body.uses.consumers.get(variable, ()):
        if number in inside or body.is_backward(number, call.depth):
            continue
        levels = body.levels[number]
        is_around = len(levels) > call.depth and outer_of(levels[: call.depth]) == call.outer
        is_here = is_around and levels[call.depth].file == call.file
        yield Taken(Span(*levels[call.depth].span) if is_here else None)
    for position in body.uses.results.get(variable, ()):
        yield _returned_at(body, call, position)


def _returned_at(body: Body, call: Call, position: int) -> Taken:
    """The range after `return` that gives one result of the body, where the body is of the function itself."""
    function = body.function
    if call.depth or function is None or len(function.returns) != 1:
        return Taken(None)
    node, count = function.returns[0].value, len(body.jaxpr.outvars)
    path = body.result_path(position)
    if path is not None:
        node, path = _at_path(node, path, body.source(body.origin[0]).fields)
        return Taken(span_of(node), path)
    if body.jaxpr.debug_info.traced_for == "fori_loop":
        return Taken(None)
    equation: Any = body.around.equation
    if equation is not None and equation.primitive.name == "scan" and isinstance(node, ast.Tuple):
        _, carried = versions.scan_counts(equation.params)
        is_carry = position < carried
        if len(node.elts) != len(("carry", "y")):
            return Taken(None)
        node = node.elts[0 if is_carry else 1]
        position, count = (position, carried) if is_carry else (position - carried, count - carried)
    if isinstance(node, ast.Tuple) and len(node.elts) == count:
        node = node.elts[position]
    return Taken(span_of(node))


def _at_path(node: ast.expr, path: str, fields: Fields) -> tuple[ast.expr, str]:
    """The part of a literal at `[1]['loss']`, as far as it is one, and the rest of the path."""
    while step := _STEP.match(path):
        elements = dict(parts_of(node, fields))
        if step[0] not in elements:
            break
        node, path = elements[step[0]], path[step.end() :]
    return node, path


def _loads(function: Function, statement: Statement, name: str) -> list[Load]:
    """The uses of a name between its assignment and the next one, and those of what `name.replace(...)` gives there."""
    after = tuple(statement.span[2:])
    until = _reassigned(function, statement, name)
    found = [
        one
        for one in _all_loads(function)
        if (one.text == name or one.text.startswith((f"{name}.", f"{name}[")))
        and (statement.repeats or after <= tuple(one.span[:2]) <= until)
    ]
    for other in function.statements if not statement.repeats else ():
        fields = replaced_in(other.value, name) if after <= tuple(other.span[:2]) <= until else ()
        if not fields or other.repeats or len(other.targets) != 1:
            continue
        root = other.targets[0].text
        for one in _loads(function, other, root):
            path, replaced = one.text.removeprefix(root), (*fields, *one.replaced)
            if one._replace(replaced=replaced).has(path):
                found.append(Load(one.span, name + path, one.is_bare, replaced))
    return found


def _reassigned(function: Function, statement: Statement, name: str) -> tuple[int, int]:
    ends = [
        (other.span.end_line, other.span.end_column)
        for other in function.statements
        if other is not statement
        and (other.whole or other.span) != (statement.whole or statement.span)
        and tuple(other.span[:2]) >= tuple(statement.span[2:])
        and any(name in texts_of(target) for target in other.targets)
    ]
    return min(ends, default=(function.last + 1, 0))


def texts_of(target: Target) -> Iterator[str]:
    """A target and its parts as they are written."""
    yield target.text
    for part in target.parts:
        yield from texts_of(part)


def _is_returned(function: Function, loads: Sequence[Load]) -> bool:
    return any(returned.span.contains(one.span) for returned in function.returns for one in loads)


@functools.lru_cache(maxsize=1024)
def _all_loads(function: Function) -> tuple[Load, ...]:
    return tuple(_loads_in(function.node))


def _loads_in(node: ast.AST) -> Iterator[Load]:
    """Names with the attributes and constant items that follow: `state.inner[0]`; a called one without its method."""
    if isinstance(node, ast.AugAssign):
        yield Load(span_of(node.target), ast.unparse(node.target), isinstance(node.target, ast.Name))
        parts: list[ast.AST] = [node.value]
    elif isinstance(node, ast.Call):
        # `x['w'].sum()` takes `x['w']`. Of other methods nobody knows: `x.inner.norm()` says no more than `x`.
        inner: ast.expr = node.func
        is_of_array = isinstance(inner, ast.Attribute) and hasattr(jax.Array, inner.attr)
        while isinstance(inner, ast.Attribute | ast.Subscript) and not (is_of_array and inner is not node.func):
            inner = inner.value
        parts = [inner, *node.args, *node.keywords]
    elif isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and _is_chain(node):
        is_static = isinstance(node, ast.Attribute) and node.attr in STATIC_ATTRIBUTES
        if isinstance(node.ctx, ast.Load) and not is_static:
            yield Load(span_of(node), ast.unparse(node), isinstance(node, ast.Name))
        return
    else:
        parts = list(ast.iter_child_nodes(node))
    for part in parts:
        yield from _loads_in(part)


def _is_chain(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute) or (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)):
        node = node.value
    return isinstance(node, ast.Name)
