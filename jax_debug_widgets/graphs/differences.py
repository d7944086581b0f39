"""Describe in words how two paired equations differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jax_debug_widgets.graphs.flat import Edge, FlatOperation
from jax_debug_widgets.graphs.pairing import Pairing


@dataclass(frozen=True)
class Difference:
    """What differs between two paired equations: both sides, and a word before them that may be empty."""

    before: str
    after: str
    about: str = ""

    def mirrored(self) -> Difference:
        """Return the same from the view of the other program."""
        return Difference(self.after, self.before, self.about)

    def __str__(self) -> str:
        return f"{self.about}{': ' if self.about else ''}{self.before} → {self.after}"


def differences(one: FlatOperation, other: FlatOperation) -> Iterator[Difference]:
    """Yield the differences between two operations apart from their operands."""
    before, after = one.equation, other.equation
    if before.primitive != after.primitive and {before.primitive, after.primitive} != {"add", "add_any"}:
        yield Difference(before.primitive, after.primitive)
    elif before.params != after.params:
        for key in sorted(before.params.keys() | after.params.keys()):
            if before.params.get(key) != after.params.get(key):
                yield Difference(before.params.get(key, "none"), after.params.get(key, "none"), key)
    types = [", ".join(map(str, own.types)) for own in (before, after)]
    if types[0] != types[1]:
        yield Difference(*types)
    if one.rules != other.rules:
        yield Difference(*(", ".join(own.rules) or "no rule for derivatives" for own in (one, other)))


def other_operands(one: FlatOperation, other: FlatOperation, pairing: Pairing) -> Iterator[Difference]:
    """Yield the operands that do not correspond, such as `2.0 → 3.0` for numbers."""
    before, after = list(one.operands), list(other.operands)
    if len(before) != len(after):
        yield Difference(str(len(before)), str(len(after)), "operands")
        return
    orders = [after, after[::-1]] if one.commutes else [after]
    if any(all(is_same_edge(*pair, pairing) for pair in zip(before, order, strict=True)) for order in orders):
        return
    for left, own, right, its in zip(before, one.equation.operands, after, other.equation.operands, strict=True):
        if is_same_edge(left, right, pairing):
            continue
        texts = own.text, its.text
        if own.text == its.text:  # A name that is assigned again, or two arrays.
            texts = f"{own.text}{pairing.maker(0, left)}", f"{its.text}{pairing.maker(1, right)}"
        yield Difference(*texts)


def is_same_edge(one: Edge, other: Edge, pairing: Pairing) -> bool:
    """Return whether two operands come from paired operations, or from the same input."""
    if one[0] == other[0] == "result":
        return pairing.forth.get(one[1]) == other[1] and one[2] == other[2]
    return one[:2] == other[:2]
