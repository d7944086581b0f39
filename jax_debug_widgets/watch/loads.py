"""What the source does with a name after it is assigned: that tells which variable of the program it stands for.

`state, info = sampler.step(key, state)` runs a library in which the two have come together in ways that no reader of source
can follow. But what `info.energy * 2` takes of it is `info.energy`, and what is only returned is of `state`.
"""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections.abc import Sequence
from typing import Any

from jax_debug_widgets.watch.body import Body, Call
from jax_debug_widgets.watch.mentions import Computes, Load, is_part, loads_of, texts_of
from jax_debug_widgets.watch.source import Function, Span, Statement, Target, span_of
from jax_debug_widgets.watch.takers import Taken, takers_of

_ITEM = re.compile(r"\[(\d+)\]")


def parts_by_use(
    body: Body, call: Call, statement: Statement, target: Target, variables: Sequence[Any], inside: set[int]
) -> dict[Any, int]:
    """Each variable with the number of the part of a tuple target that it belongs to, where the uses of the parts tell.

    Of as many as there are parts the last that is left belongs to the part that is left.

    Args:
      variables: what the statement makes and others use.
      inside: the equations of the statement.
    """
    if statement.function is None:
        return {}
    computes = _computes(body, call)
    loads = [
        [one for text in texts_of(part) for one in loads_of(statement.function, statement, text, computes)]
        for part in target.parts
    ]
    returned = [_is_returned(statement.function, own) for own in loads]
    found: dict[Any, int] = {}
    for variable in variables:
        candidates = set(range(len(loads)))
        for taken in takers_of(body, call, variable, inside):
            candidates &= {
                number
                for number, own in enumerate(loads)
                if (returned[number] if taken.span is None else any(taken.span.contains(one.span) for one in own))
            }
        if len(candidates) == 1:
            found[variable] = candidates.pop()
    left, free = [one for one in variables if one not in found], set(range(len(loads))).difference(found.values())
    if len(variables) == len(loads) and len(left) == len(free) == 1:
        found[left[0]] = free.pop()
    return found


def _computes(body: Body, call: Call) -> Computes:
    """Of the function that a place is in."""
    return lambda span: Call(call.outer, call.file, span) in body.calls


def loads_of_targets(statement: Statement) -> list[Span]:
    """Where its function takes what a statement assigns."""
    if statement.function is None:
        return []
    texts = [text for target in statement.targets for text in texts_of(target)]
    return [one.span for text in texts for one in loads_of(statement.function, statement, text)]


def is_taken_by_name(body: Body, call: Call, statement: Statement, variable: Any, inside: set[int]) -> bool:
    """Whether what takes a variable in the function of a statement names what that assigns."""
    loads = loads_of_targets(statement)
    takers = takers_of(body, call, variable, inside)
    return any(taken.span is not None and any(map(taken.span.contains, loads)) for taken in takers)


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
    loads = loads_of(statement.function, statement, name, _computes(body, call))
    # An array's own items and properties (`x[0]`, `x.T`) are operations, which have that very range.
    loads = [one._replace(is_bare=one.is_bare or Call(call.outer, call.file, one.span) in body.calls) for one in loads]
    takers = [list(takers_of(body, call, variable, inside)) for variable in variables]
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
    return {part for whole, part in pairs if is_part(part, whole)}


def items_taken(statement: Statement, name: str) -> list[str]:
    """The items that its function takes of a list or tuple, `[0]`, `[2]` and `[-1]`, where it takes nothing else of it."""
    if statement.function is None or not (
        isinstance(statement.value, ast.Tuple) or _is_map(statement.value) or comprehends(statement.value)
    ):
        return []
    negative = _negative_items(statement.function)
    taken: dict[int, set[str]] = {}
    for one in loads_of(statement.function, statement, name):
        path = one.text.removeprefix(name)
        number = negative.get(one.span) if not path else _number(path)
        if number is None:
            return []
        taken.setdefault(number, set()).add(path or f"[{number}]")
    in_order = sorted(taken, key=lambda number: (number < 0, number))
    if any(len(paths) > 1 for paths in taken.values()):
        in_order = []  # Items of an item: which of them comes first, who computes them knows.
    return [path for number in in_order for path in taken[number]]


def items_of_slice(statement: Statement, name: str, count: int) -> list[str]:
    """So many items that its function takes of a list, where it takes one slice and nothing else: `[1]`, `[2]` of `hs[1:]`."""
    if statement.function is None:
        return []
    slices = _slices(statement.function)
    taken = {slices.get(one.span) for one in loads_of(statement.function, statement, name)}
    if len(taken) != 1 or (only := taken.pop()) is None:
        return []
    first, step = only
    return [f"[{first + step * number}]" for number in range(count)] if step > 0 else []


def _slices(function: Function) -> dict[Span, tuple[int, int]]:
    """By the range of a name the first item and the step of a slice of it, where these are written as numbers."""
    found = {}
    for node in ast.walk(function.node):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            bounds = [_written(one, default) for one, default in ((node.slice.lower, 0), (node.slice.step, 1))]
            if None not in bounds:
                found[span_of(node.value)] = (*bounds,)
    return found


def _written(bound: ast.expr | None, default: int) -> int | None:
    text = str(default) if bound is None else ast.unparse(bound)
    return int(text) if re.fullmatch(r"-?\d+", text) else None


def comprehends(value: ast.expr) -> bool:
    """Whether an expression is a list of what one computes again and again, or a tuple: `tuple(f(k) for k in ks)`."""
    match value:
        case ast.ListComp() | ast.Call(func=ast.Name(id="tuple" | "list"), args=[ast.GeneratorExp() | ast.ListComp()]):
            return True
    return False


def _is_map(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func).endswith(("tree.map", "tree_map"))


def _number(path: str) -> int | None:
    index = _ITEM.match(path)
    return int(index[1]) if index else None


@functools.lru_cache(maxsize=1024)
def _negative_items(function: Function) -> dict[Span, int]:
    """By the range of a name which of its last items is taken of it: `xs[-1]`."""
    return {
        span_of(node.value): -node.slice.operand.value
        for node in ast.walk(function.node)
        if isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.UnaryOp)
        and isinstance(node.slice.op, ast.USub)
        if isinstance(node.slice.operand, ast.Constant) and isinstance(node.slice.operand.value, int)
    }


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
    return unpacked or not all(one.is_bare for one in loads_of(statement.function, statement, name))


def _is_returned(function: Function, loads: Sequence[Load]) -> bool:
    return any(returned.span.contains(one.span) for returned in function.returns for one in loads)
