"""A function that is inlined where it is called: its `return`s tell what the call gives."""

from __future__ import annotations

import ast
from typing import NamedTuple

from jax_debug_widgets._jax.frames import Level
from jax_debug_widgets.watch.body import Body, Call, Outer, outer_of
from jax_debug_widgets.watch.source import Function


class Inlined(NamedTuple):
    """An inlined function.

    Attributes:
      outer: the frames around it.
      returned: what it gives to its caller, an expression for each `return`.
    """

    function: Function
    file: str
    outer: Outer
    returned: tuple[ast.expr, ...] = ()

    @property
    def only(self) -> ast.expr | None:
        """What it gives, where it has one `return`."""
        return self.returned[0] if len(self.returned) == 1 else None


def inlined_by(body: Body, call: Call, members: list[int]) -> Inlined | None:
    """The function that a place calls, where its equations are all in one."""
    levels, depth = body.levels[members[0]], call.depth + 1
    return None if any(len(body.levels[one]) <= depth for one in members) else inlined_at(body, levels, depth)


def inlined_at(body: Body, levels: tuple[Level, ...], depth: int) -> Inlined | None:
    """The function of a frame."""
    own = levels[depth]
    function = body.source(own.file).function_at(own.code_line, own.function)
    if function is None:
        return None
    returned = [one.value for one in function.returns]
    if depth and levels[depth - 1].runs_rule == "forward":  # It gives more than the function that it is a rule of.
        returned = [one.elts[0] for one in returned if isinstance(one, ast.Tuple) and one.elts]
    return Inlined(function, own.file, outer_of(levels[:depth]), tuple(returned))
