"""Tell the backward passes of one body apart: `x = x - jax.grad(f)(x)` in a Python loop has one in each round.

In a backward pass what ran last is transposed first. So which execution of a statement, or of a loop, a transposed equation
is of hangs on which equations are of one pass, and on the order of their forward passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jax.extend import core

Derived = Sequence[tuple[bool, ...]]
"""See `Uses.derived`."""


def order_in_forward_passes(
    equations: Sequence[Any], derived: Derived, is_cotangent: Callable[[Any], bool]
) -> dict[int, tuple[int, int]]:
    """For each transposed equation what sorts it by where that which it is transposed from is in the forward passes."""
    makers = {variable: number for number, equation in enumerate(equations) for variable in equation.outvars}

    def operands(number: int) -> Iterator[tuple[Any, int]]:
        atoms = (atom for atom in equations[number].invars if not isinstance(atom, core.Literal))
        return ((atom, makers[atom]) for atom in atoms if atom in makers)

    order: dict[int, tuple[int, int]] = {}
    for stretch in _between_forward_passes(derived):
        parts = _connected(stretch, lambda number: [maker for atom, maker in operands(number) if is_cotangent(atom)])
        kept = [
            [maker for number in part for _, maker in operands(number) if derived[maker] and not any(derived[maker])]
            for part in parts
        ]
        for part in _in_order(parts, kept):
            place = len(order)
            order |= {number: (place, -number) for number in part}
    return order


def _between_forward_passes(derived: Derived) -> Iterator[list[int]]:
    """The transposed equations that have no equation of a forward pass between them."""
    stretch: list[int] = []
    for number, transposed in enumerate(derived):
        if any(transposed):
            stretch.append(number)
        elif transposed and stretch:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def _connected(numbers: Sequence[int], neighbours: Callable[[int], Sequence[int]]) -> list[list[int]]:
    """What hangs together of these, each time in order."""
    later: dict[int, int] = {}
    """Each with another one of its part; the last with itself."""

    def last_of(number: int) -> int:
        while later[number] != number:
            later[number] = number = later[later[number]]
        return number

    for number in numbers:
        later[number] = number
        for other in neighbours(number):
            if other in later:
                later[last_of(other)] = number
    parts: dict[int, list[int]] = {}
    for number in numbers:
        parts.setdefault(last_of(number), []).append(number)
    return list(parts.values())


def _in_order(parts: Sequence[list[int]], kept: Sequence[list[int]]) -> list[list[int]]:
    """The backward passes of these parts of equations, in the order of their forward passes.

    `jax.vjp` in one loop, and what it gives in another, leave passes with no forward pass between them. A single one has
    several parts where it adds up what is computed apart: then what they have kept of the forward pass is mixed, or in order.

    Args:
      kept: for each part the equations of the forward pass whose results it takes.
    """
    if not all(kept):
        return [[number for part in parts for number in part]]
    passes: list[list[int]] = []
    last = -1
    for own, part in sorted(zip(kept, parts, strict=True), key=lambda each: min(each[0])):
        if min(own) > last:
            passes.append([])
        passes[-1] += part
        last = max(last, *own)
    return passes
