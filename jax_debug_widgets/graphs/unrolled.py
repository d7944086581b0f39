"""Tell of a loop that only one of two programs has whether the other one has its steps one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.graphs.flat import FlatOperation, FlatProgram, flat_of, hash_up


def unrolled_text(loop: FlatOperation, other: FlatProgram, paired: Collection[int]) -> str:
    """Return the steps of a `scan` without a partner, in words; empty for another operation.

    Args:
      loop: the operation.
      other: the other program.
      paired: the numbers of the operations of the other program that have a partner.
    """
    equation = loop.equation
    if equation.primitive != "scan" or equation.repeats is None:
        return ""
    (body,) = equation.bodies
    flat = flat_of(body, [("input", place) for place in range(len(body.inputs))])
    hash_up(flat)
    needed = Counter(
        {label: count * equation.repeats for label, count in Counter(one.label for one in flat.nodes).items()}
    )
    left = Counter(one.label for one in other.nodes if one.number not in paired)
    steps = f"{plural(equation.repeats, 'step')} of {plural(len(flat.nodes), 'equation')}"
    return f"{steps}, one by one in the other" if needed and needed <= left else steps
