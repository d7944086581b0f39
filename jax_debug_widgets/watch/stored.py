"""What a called function keeps, `self.total = self.total + v`, `log.append(h.mean())`, is not what its call gives."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

from jax_debug_widgets.watch.body import Body
from jax_debug_widgets.watch.literals import MAY_DO_NOTHING, is_of_arrays
from jax_debug_widgets.watch.mentions import is_part, texts_of
from jax_debug_widgets.watch.source import Function, Span, Statement, span_of

_GIVING_BACK = MAY_DO_NOTHING | {"device_put", "with_sharding_constraint"}
"""Functions of arrays that may give what they are given."""


def is_stored(body: Body, number: int, depth: int) -> bool:
    """Whether an equation, seen from a frame, makes what a function that is called there keeps and does not return."""
    for level in body.levels[number][depth + 1 :]:
        source = body.source(level.file)
        function = source.function_at(level.code_line, level.function)
        if function is None:
            continue
        span = Span(*level.span)
        statements = [one for one in function.statements if one.targets and (one.whole or one.span).contains(span)]
        if statements and all(_is_kept(function, one) for one in statements):
            return True
        if any(own.contains(span) for own in _added_to_others(function)):
            return True
    return False


def _is_kept(function: Function, statement: Statement) -> bool:
    """Whether all that a statement assigns to is elsewhere, in an object or another function, and is not returned."""
    texts = [
        text for target in statement.targets for text in texts_of(target) if not target.parts or text != target.text
    ]
    elsewhere, given = _names_of_others(function), _given(function)
    return given is not None and all(
        (not text.isidentifier() or text in elsewhere) and not any(_overlap(text, one) for one in given)
        for text in texts
    )


@functools.lru_cache(maxsize=1024)
def _added_to_others(function: Function) -> tuple[Span, ...]:
    """The calls of methods of what the function does not return, of which it takes nothing: `log.append(h.mean())`."""
    given = _given(function)
    calls = [
        one.value
        for one in ast.walk(function.node)
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) and isinstance(one.value.func, ast.Attribute)
    ]
    owners = [(span_of(one), ast.unparse(one.func.value)) for one in calls if isinstance(one.func, ast.Attribute)]
    return tuple(span for span, owner in owners if given is not None and not any(_overlap(owner, one) for one in given))


def _overlap(one: str, other: str) -> bool:
    return is_part(one, other) or is_part(other, one)


@functools.lru_cache(maxsize=1024)
def _names_of_others(function: Function) -> frozenset[str]:
    declared = [one.names for one in ast.walk(function.node) if isinstance(one, ast.Nonlocal | ast.Global)]
    return frozenset(name for names in declared for name in names)


@functools.lru_cache(maxsize=1024)
def _given(function: Function) -> frozenset[str] | None:
    """The names and fields of which a function may return what is there; None where nobody knows: it yields."""
    if any(isinstance(one, ast.Yield | ast.YieldFrom | ast.Await) for one in ast.walk(function.node)):
        return None
    found = {text for one in function.returns for text in _passed_on(one.value)}
    if function.name.rpartition(".")[2] in ("__init__", "__post_init__"):
        found |= {*function.arguments[:1]}  # The call of its class gives that.
    rest = [one for one in function.statements if one.targets]
    while True:
        reached = [
            one
            for one in rest
            if any(_overlap(text, given) for target in one.targets for text in texts_of(target) for given in found)
        ]
        if not reached:
            return frozenset(found)
        rest = [one for one in rest if one not in reached]
        found |= {text for one in reached for text in _passed_on(one.value)}


def _gives_new_arrays(function: ast.Attribute) -> bool:
    return is_of_arrays(function.value) and function.attr not in _GIVING_BACK


def _passed_on(node: ast.AST) -> Iterator[str]:
    """The names and fields which an expression may give as they are: not those that it computes with."""
    match node:
        case ast.BinOp() | ast.UnaryOp() | ast.Compare():
            return
        case ast.Call(func=ast.Attribute() as function) if _gives_new_arrays(function):
            return
        case ast.Call(func=ast.Attribute(value=owner)):
            yield from _passed_on(owner)  # Its method may give any field.
            for one in (*node.args, *node.keywords):
                yield from _passed_on(one)
        case ast.Name() | ast.Attribute():
            yield ast.unparse(node)
        case ast.Subscript(value=value):
            yield from _passed_on(value)
        case _:
            for one in ast.iter_child_nodes(node):
                yield from _passed_on(one)
