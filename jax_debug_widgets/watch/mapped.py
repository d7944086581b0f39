"""What `jax.tree.map` gives: at each leaf of the tree that it goes through what the function returns for that."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any

from jax_debug_widgets.watch.body import Body, Call, Made, is_array
from jax_debug_widgets.watch.classes import last_name
from jax_debug_widgets.watch.escaping import what_escapes
from jax_debug_widgets.watch.inlined import inlined_by
from jax_debug_widgets.watch.instances import operation_of
from jax_debug_widgets.watch.literals import leaves_of
from jax_debug_widgets.watch.parts import made_by
from jax_debug_widgets.watch.source import Target

Leaves = list[tuple[str, Any]]
"""Path and variable of each leaf of a tree; of a literal without variables."""

_MAPS = re.compile(r"(tree_)?map(_with_path)?")
_COLLECTIVES = re.compile(r"p(mean|sum|max|min)")
_INDEX = re.compile(r"\[(\d+)\]")


def trees_of(node: ast.expr) -> list[ast.expr]:
    """The trees that `jax.tree.map(f, ...)` or `lax.pmean(tree, ...)` goes through; none where it is no such call."""
    if not isinstance(node, ast.Call) or any(isinstance(one, ast.Starred) for one in node.args):
        return []
    called = last_name(node.func)
    return node.args[1:] if _MAPS.fullmatch(called) else node.args[:1] if _COLLECTIVES.fullmatch(called) else []


def by_leaf(body: Body, members: Sequence[int], leaves: Leaves) -> list[list[int]]:
    """The equations for each of these leaves; none where they are not those of the tree."""
    for parts in (_apart(body, members), _one_by_one(body, members)):
        if len(parts) == len(leaves) and all(
            _begins_alike(body, part, parts[0]) if variable is None else variable in _taken_by(body, part)
            for (_, variable), part in zip(leaves, parts, strict=True)
        ):
            return parts
    return []


def _begins_alike(body: Body, part: Sequence[int], other: Sequence[int]) -> bool:
    """Whether both begin with the same operation: what is computed for a derivative alone is no other leaf."""
    return operation_of(body, part[0]) == operation_of(body, other[0])


def _one_by_one(body: Body, members: Sequence[int]) -> list[list[int]]:
    """These equations in parts that begin with the same operation."""
    parts: list[list[int]] = []
    for number in members:
        if not parts or operation_of(body, number) == operation_of(body, members[0]):
            parts.append([])
        parts[-1].append(number)
    return parts


def _apart(body: Body, members: Sequence[int]) -> list[list[int]]:
    """These equations in parts of which none takes anything of another: `pmean` adds all leaves first, and then divides."""
    parts: list[list[int]] = []
    for number in members:
        made = {body.makers[atom][1] for atom in _taken_by(body, [number]) if atom in body.makers}
        joined = [one for one in parts if not made.isdisjoint(one)]
        place = parts.index(joined[0]) if joined else len(parts)
        parts = [one for one in parts if one not in joined]
        parts.insert(place, [*(each for one in joined for each in one), number])
    return parts


def in_order_of(body: Body, parts: Sequence[list[int]], leaves: Leaves) -> list[Any]:
    """For each leaf the one of these that the map takes there, None for none; nothing where that cannot be told."""
    known = {variable for _, variable in leaves}
    taken = [known & _taken_by(body, part) for part in parts]
    order = [next(iter(own), None) for own in taken]
    is_told = all(len(own) <= 1 for own in taken) and len(parts) - order.count(None) == len(known) == len(
        {*order} - {None}
    )
    return order if is_told else []


def given_at(body: Body, call: Call, parts: Sequence[list[int]], leaves: Leaves) -> list[tuple[str, Made]]:
    """The leaves of what the map gives; none where not all are told."""
    found: list[tuple[str, Made]] = []
    members = [number for part in parts for number in part]
    escaping = [one for one in what_escapes(body, members, call.depth) if is_array(one[0])]
    for (path, _), part in zip(leaves, parts, strict=True):
        own = [one for one in escaping if one[1] in part]
        told = list(_returned(body, call, part)) or [("", one) for one in own]
        found += [(path + rest, one) for rest, one in told if one in own]
    is_all = len({path for path, _ in found}) == len(found) == len({one for _, one in found}) == len(escaping)
    return found if is_all else []


def name_at(target: Target, path: str) -> str | None:
    """What a leaf is called, `b['w']` of that at `[1]['w']` in `a, b = ...`; None if it goes to no single name."""
    if target.is_plain:
        return target.text + path
    step = _INDEX.match(path)
    number = int(step[1]) if step else len(target.parts)
    if step is None or number >= len(target.parts) or any(one.text.startswith("*") for one in target.parts):
        return None
    return name_at(target.parts[number], path[step.end() :])


def _taken_by(body: Body, part: Sequence[int]) -> set[Any]:
    return {atom for number in part for atom in body.equations[number].invars if is_array(atom)}


def _returned(body: Body, call: Call, part: list[int]) -> Iterator[tuple[str, Made]]:
    """What the function returns for one leaf, part by part, where it puts that together after `return`."""
    inner = inlined_by(body, call, part)
    if inner is None or inner.only is None:
        return
    for element in leaves_of(inner.only, body.source(inner.file).fields):
        made = made_by(body, element.value, inner, set(part))
        if len(made) == 1:
            yield element.path, made[0]
