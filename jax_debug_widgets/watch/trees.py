"""The leaves of a tree that has the structure of another one have its paths: `grads['w']` for `grads[1]`.

A gradient has the structure of what it is taken for, what `jax.tree.map` gives that of its arguments, what optax updates that
of what it was.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Iterator
from typing import Any

from jax_debug_widgets.watch.arguments import Argument
from jax_debug_widgets.watch.body import Body, Call, Made, Outer, type_of
from jax_debug_widgets.watch.derivatives import differentiating
from jax_debug_widgets.watch.literals import leaves_of
from jax_debug_widgets.watch.source import Statement, Target

_LEAF = re.compile(r"(\w+)([\[.].*)")
_OPTAX = re.compile(r"[\\/]optax[\\/]")

Leaves = list[tuple[str, Any]]
"""Path and type of each."""


class Trees:
    """The trees that a body has come to so far, by the frames around it and their names."""

    def __init__(self, arguments: Iterable[Argument], parameters: Container[str]) -> None:
        self._leaves: dict[tuple[Outer, str], Leaves] = {}
        self._parameters = parameters
        """Which of the leaves of arguments flax.nnx differentiates for."""
        for one in arguments:
            leaf = _LEAF.fullmatch(one.name)
            if leaf:
                self._leaves.setdefault(((), leaf[1]), []).append((leaf[2], type_of(one.variable)))

    def named(
        self, body: Body, call: Call, statement: Statement, members: list[int], values: Iterable[tuple[str, Made]]
    ) -> list[tuple[str, Made]]:
        """What one execution of a statement assigns, each name with what it is: with their paths, where they are known."""
        values = list(values)
        for target in statement.targets:
            for name in _plain(target):
                own = [one for one in values if one[0] == name or one[0].startswith((f"{name}[", f"{name}."))]
                types = [type_of(made[0]) for _, made in own]
                if [one for one, _ in own] == [f"{name}[{number}]" for number in range(len(own))]:
                    paths = self._paths(body, call, statement, members, types)
                    renamed = {old: f"{name}{path}" for (old, _), path in zip(own, paths, strict=False)}
                    values = [(renamed.get(old, old), made) for old, made in values]
                    own = [(renamed.get(old, old), made) for old, made in own]
                paths = [full.removeprefix(name) for full, _ in own]
                self._leaves[call.outer, name] = list(zip(paths, types, strict=True))
        return values

    def _paths(self, body: Body, call: Call, statement: Statement, members: list[int], types: list[Any]) -> list[str]:
        """The paths in that argument of a call which what it gives is like."""
        node, (own, *inner) = statement.value, body.levels[members[0]][call.depth :]
        is_alike = differentiating(body, members[0], call.depth) or (inner and _OPTAX.search(inner[0].file))
        for one in node.args if isinstance(node, ast.Call) and (is_alike or own.maps) else ():
            tree = ast.unparse(one)
            leaves = self._leaves.get((call.outer, tree), [])
            if len(leaves) > len(types):
                leaves = [leaf for leaf in leaves if f"{tree}{leaf[0]}" in self._parameters]
            if own.maps and not leaves:
                leaves = [(part.path, None) for part in leaves_of(one, body.source(call.file).fields)]
            if len(leaves) == len(types) and (own.maps or [kind for _, kind in leaves] == types):
                return [path for path, _ in leaves]
        return []


def _plain(target: Target) -> Iterator[str]:
    if target.is_plain:
        yield target.text
    for part in target.parts:
        yield from _plain(part)
