"""Find the names that a source file uses, and whether one name is a part of another."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from typing import NamedTuple

import jax

from jax_debug_widgets.watch.syntax.literals import STATIC_ATTRIBUTES
from jax_debug_widgets.watch.syntax.statements import Function, Span, Target, span_of


def is_part(name: str, whole: str) -> bool:
    """Whether `name` is `whole` or a part of it: `state.params['w']` is a part of `state.params`."""
    return name == whole or name.startswith((f"{whole}.", f"{whole}["))


class NameUse(NamedTuple):
    """A use of a name: the range of, say, `info.energy`, and its text."""

    span: Span
    text: str


def texts_of(target: Target) -> Iterator[str]:
    """Yield the texts of a target and of its parts."""
    yield target.text
    for part in target.parts:
        yield from texts_of(part)


@functools.lru_cache(maxsize=1024)
def all_loads(function: Function) -> tuple[NameUse, ...]:
    """Return the uses of all names in a function."""
    return tuple(_loads_in(function.node))


def _loads_in(node: ast.AST) -> Iterator[NameUse]:
    """Yield names with the attributes and constant items that follow: `state.inner[0]`; for a method call the object's name."""
    if isinstance(node, ast.AugAssign):
        yield NameUse(span_of(node.target), ast.unparse(node.target))
        parts: list[ast.AST] = [node.value]
    elif isinstance(node, ast.Call):
        # `x['w'].sum()` uses `x['w']`. Other methods are unknown: `x.inner.norm()` uses only `x`.
        inner: ast.expr = node.func
        is_of_array = isinstance(inner, ast.Attribute) and hasattr(jax.Array, inner.attr)
        while isinstance(inner, ast.Attribute | ast.Subscript) and not (is_of_array and inner is not node.func):
            inner = inner.value
        parts = [inner, *node.args, *node.keywords]
    elif isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and _is_chain(node):
        is_static = isinstance(node, ast.Attribute) and node.attr in STATIC_ATTRIBUTES
        if isinstance(node.ctx, ast.Load) and not is_static:
            yield NameUse(span_of(node), ast.unparse(node))
        return
    else:
        parts = list(ast.iter_child_nodes(node))
    for part in parts:
        yield from _loads_in(part)


def _is_chain(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute) or (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)):
        node = node.value
    return isinstance(node, ast.Name)
