"""Where the source takes what a name was assigned: after the assignment, and before the next one."""

from __future__ import annotations

import ast
import functools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import jax

from jax_debug_widgets.watch.classes import last_name
from jax_debug_widgets.watch.literals import STATIC_ATTRIBUTES, replaced_in
from jax_debug_widgets.watch.source import Function, Span, Statement, Target, span_of


def is_part(name: str, whole: str) -> bool:
    """Whether `name` is `whole` or a part of it, as `state.params['w']` is of `state.params`."""
    return name == whole or name.startswith((f"{whole}.", f"{whole}["))


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
        return not any(is_part(path, field) for field in self.replaced)


Computes = Callable[[Span], bool]
"""Whether the program has anything that a range of the source computes."""


def loads_of(function: Function, statement: Statement, name: str, computes: Computes | None = None) -> list[Load]:
    """The uses of a name between its assignment and the next one, and there those of what `name.replace(...)` gives.

    And of what is only another name for it or for a part of it: `rate = name.rate`.

    Args:
      computes: tells which branches of Python's are not run, `if clip: grads = clipped(grads)`; without it all may be.
    """
    until = _reassigned(function, statement, name, computes)
    found = [
        one
        for one in all_loads(function)
        if is_part(one.text, name)
        and (statement.repeats or (_comes_after(statement, one.span) and tuple(one.span[:2]) <= until))
    ]
    for other in function.statements if not statement.repeats else ():
        is_after = _comes_after(statement, other.span) and tuple(other.span[:2]) <= until
        if not is_after or other.repeats or len(other.targets) != 1:
            continue
        fields, root = replaced_in(other.value, name), other.targets[0].text
        copied = _other_names(function).get(other, "")
        if is_part(copied, name):
            found += [
                Load(one.span, copied + one.text.removeprefix(root), one.is_bare and copied == name, one.replaced)
                for one in loads_of(function, other, root)
            ]
        for one in loads_of(function, other, root) if fields else ():
            path, replaced = one.text.removeprefix(root), (*fields, *one.replaced)
            if one._replace(replaced=replaced).has(path):
                found.append(Load(one.span, name + path, one.is_bare, replaced))
    return found


@functools.lru_cache(maxsize=1024)
def _other_names(function: Function) -> dict[Statement, str]:
    """The statements that give a variable which nothing else assigns what is there already, each with what that is."""
    assigned = Counter(text for one in function.statements for target in one.targets for text in texts_of(target))
    return {
        one: ast.unparse(one.value)
        for one in function.statements
        if not one.whole and _is_chain(one.value) and len(one.targets) == 1
        for text in [one.targets[0].text]
        if text.isidentifier() and assigned[text] == 1 and text not in function.arguments
    }


def _reassigned(function: Function, statement: Statement, name: str, computes: Computes | None) -> tuple[int, int]:
    ends = [
        (other.span.end_line, other.span.end_column)
        for other in function.statements
        if other is not statement
        and (other.whole or other.span) != (statement.whole or statement.span)
        and _comes_after(statement, other.span)
        and any(name in texts_of(target) for target in other.targets)
        and (computes is None or computes(other.span) or not _is_left_out(statement, other, name))
    ]
    return min(ends, default=(function.last + 1, 0))


def _is_left_out(statement: Statement, other: Statement, name: str) -> bool:
    """Whether another one, of which the program has nothing, is a call in a branch that has not been run."""
    function, value = other.function, other.value
    if function is None or not isinstance(value, ast.Call) or last_name(value.func) in _COMPUTE_NOTHING:
        return False
    # What takes others of the same statement may be given one of those: `a, b = swapped(a, b)`.
    beside = {text for target in statement.targets for text in texts_of(target)} - {name}
    takes_others = any(isinstance(node, ast.Name) and node.id in beside for node in ast.walk(value))
    branches = (one for own in _branches(function) for one in own)
    is_in_branch = any(one.contains(other.span) and not one.contains(statement.span) for one in branches)
    return is_in_branch and not takes_others and [target.text for target in other.targets] == [name]


_COMPUTE_NOTHING = frozenset({"replace", "_replace", "dict", "list", "tuple", "type", "reversed", "sorted", "zip"})
"""What gives other things than it takes, and computes nothing."""


def _comes_after(statement: Statement, span: Span) -> bool:
    """Whether a range follows a statement, and is not in another branch of an `if` or `match` that it is in."""
    return span[:2] >= statement.span[2:] and not any(one.contains(span) for one in _other_branches(statement))


@functools.lru_cache(maxsize=4096)
def _other_branches(statement: Statement) -> tuple[Span, ...]:
    """Those that are not run where this statement is."""
    around = _branches(statement.function) if statement.function else ()
    own = [branches for branches in around if any(one.contains(statement.span) for one in branches)]
    return tuple(one for branches in own for one in branches if not one.contains(statement.span))


def is_in_branch(statement: Statement) -> bool:
    """Whether it is in a branch of an `if` or `match`, which may not be run."""
    around = _branches(statement.function) if statement.function else ()
    return any(one.contains(statement.span) for branches in around for one in branches)


@functools.lru_cache(maxsize=1024)
def _branches(function: Function) -> tuple[tuple[Span, ...], ...]:
    """Of each `if` and `match` the ranges of its branches."""
    found: list[list[list[ast.stmt]]] = []
    for node in ast.walk(function.node):
        if isinstance(node, ast.If):
            found.append([node.body, node.orelse])
        elif isinstance(node, ast.Match):
            found.append([case.body for case in node.cases])
    return tuple(
        tuple(Span(*span_of(body[0])[:2], *span_of(body[-1])[2:]) for body in branches if body) for branches in found
    )


def texts_of(target: Target) -> Iterator[str]:
    """A target and its parts as they are written."""
    yield target.text
    for part in target.parts:
        yield from texts_of(part)


@functools.lru_cache(maxsize=1024)
def all_loads(function: Function) -> tuple[Load, ...]:
    """The uses of all names in a function."""
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
