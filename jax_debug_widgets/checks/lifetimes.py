"""Explain errors about values that are used outside of their time: leaked tracers, donated arrays, modules of flax.nnx."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.checks.leaks import where_from
from jax_debug_widgets.checks.namespace import MISSING, is_traced, leaves_of, value_of
from jax_debug_widgets.checks.raised import Raised, TextParts
from jax_debug_widgets.checks.words import WORDS


def leak(raised: Raised) -> TextParts:
    """Explain a tracer that is used after its trace."""
    held = where_from(raised.error, list(_leaves(raised)), raised.name_file)
    return TextParts(Kind.LEAK, advice=f"{held} {WORDS[Kind.LEAK].advice}" if held else "")


def outer_state(raised: Raised) -> TextParts:
    """Explain a module of flax.nnx that a function of another trace changes or takes."""
    what = re.match(r"Cannot mutate '?(\w+)'?", str(raised.error))
    return TextParts(Kind.OUTER_STATE, names=f"changes a `{what[1]}`" if what else "takes a module")


def deleted(raised: Raised) -> TextParts:
    """Explain an array that is read after it was donated."""
    gone = dict.fromkeys(name for name, leaf in _leaves(raised) if not is_traced(leaf) and leaf.is_deleted())
    verb = "were" if len(gone) > 1 else "was"
    return TextParts(Kind.DONATED, names=f"{', '.join(f'`{name}`' for name in gone) or 'an array here'} {verb}")


def donated_twice(raised: Raised) -> TextParts:
    """Explain one array that is donated as two arguments."""
    by_identity: dict[int, list[str]] = {}
    for name, leaf in _leaves(raised):
        by_identity.setdefault(id(leaf), []).append(name)
    same = next((list(dict.fromkeys(names)) for names in by_identity.values() if len(set(names)) > 1), [])
    return TextParts(Kind.DONATED_TWICE, names=" and ".join(f"`{name}`" for name in same) or "two arguments here")


def _leaves(raised: Raised) -> Iterator[tuple[str, Any]]:
    """Yield the arrays that the statement names, each once, with the longest expression in the source for it."""
    outermost = [node for node in _named(raised.statement) if value_of(node, raised.names) is not MISSING]
    for node in outermost:
        yield from leaves_of(node, raised.names)


def _named(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        yield node
        if isinstance(node, ast.Name):
            return
    for child in ast.iter_child_nodes(node):
        yield from _named(child)
