"""What an inlined function puts together after `return`, `State(x, {"v": v})`: which of what a call gives is where."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jax_debug_widgets.watch.body import Body, Made
from jax_debug_widgets.watch.classes import Fields
from jax_debug_widgets.watch.inlined import Inlined
from jax_debug_widgets.watch.literals import leaves_of
from jax_debug_widgets.watch.mapped import Leaves
from jax_debug_widgets.watch.parts import before_lanes_moved, made_by


def put_together(
    body: Body,
    node: ast.expr,
    inlined: Inlined,
    members: Sequence[int],
    made: Sequence[Made],
    leaves: Callable[[ast.expr], Leaves],
) -> list[tuple[str, Made]]:
    """The paths of what a call gives, in the order of the tree; none where not all are told.

    Args:
      node: what the function returns.
      members: the equations of the call.
      made: what it gives.
      leaves: gives what is known of a name or a call in the function.
    """
    own = {before_lanes_moved(body, one)[0]: one for one in made}
    elements = list(_elements(body, node, inlined, set(members), own, leaves))
    told = [one for _, one in elements if one]
    rest = [one for one in made if one not in told]
    unknown = [number for number, (_, one) in enumerate(elements) if not one]
    # What is the same in all lanes `vmap` makes many of, in the order of the tree.
    is_by_vmap = all(len(body.levels[number]) == len(inlined.outer) for _, number, _ in rest)
    is_in_order = len(rest) == 1 or (is_by_vmap and _is_in_order(node, body.source(inlined.file).fields))
    if is_in_order and len(rest) == len(unknown):
        for number, one in zip(unknown, sorted(rest, key=lambda one: one[1:]), strict=True):
            elements[number] = elements[number][0], one
    found = [(path, one) for path, one in elements if one]
    return found if len(found) == len(made) == len({one for _, one in found}) else []


def _is_in_order(node: ast.expr, fields: Fields) -> bool:
    """Whether `leaves_of` knows the order of what is given by name to any class in there."""
    calls = (one for one in ast.walk(node) if isinstance(one, ast.Call) and len(one.keywords) > 1)
    return all(ast.unparse(one.func) in dict(fields) for one in calls)


def _elements(
    body: Body,
    node: ast.expr,
    inlined: Inlined,
    members: set[int],
    own: dict[Any, Made],
    leaves: Callable[[ast.expr], Leaves],
) -> Iterator[tuple[str, Made | None]]:
    """The leaves of an expression as far as they are written or known, each with which of `own` it is."""
    parts = leaves_of(node, body.source(inlined.file).fields)
    for part in parts:
        for path, one in _elements(body, part.value, inlined, members, own, leaves):
            yield part.path + path, one
    known = leaves(node) if not parts else []
    for path, variable in known:
        yield path, own.get(variable)
    if not (parts or known):
        made = [one for each in made_by(body, node, inlined, members) if (one := own.get(each[0]))]
        yield "", made[0] if len(made) == 1 else None
