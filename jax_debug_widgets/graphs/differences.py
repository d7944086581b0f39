"""Describe in words how two paired equations differ."""

from __future__ import annotations

from collections.abc import Iterator

from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.graphs.flat import Edge, FlatOperation
from jax_debug_widgets.graphs.pairing import Pairing


def differences(one: FlatOperation, other: FlatOperation) -> Iterator[str]:
    """Yield the differences between two operations apart from their operands."""
    before, after = one.equation, other.equation
    if before.primitive != after.primitive and {before.primitive, after.primitive} != {"add", "add_any"}:
        yield f"{before.primitive} → {after.primitive}"
    elif before.params != after.params:
        for key in sorted(before.params.keys() | after.params.keys()):
            if before.params.get(key) != after.params.get(key):
                yield f"{key}: {before.params.get(key, 'none')} → {after.params.get(key, 'none')}"
    types = [", ".join(map(str, own.types)) for own in (before, after)]
    if types[0] != types[1]:
        yield " → ".join(types)
    if one.rules != other.rules:
        yield " → ".join(", ".join(own.rules) or "no rule for derivatives" for own in (one, other))


def other_operands(one: FlatOperation, other: FlatOperation, pairing: Pairing) -> list[str]:
    """Describe the operands that do not correspond, such as `2.0 → 3.0` for numbers."""
    before, after = list(one.operands), list(other.operands)
    if len(before) != len(after):
        return [f"{len(before)} → {plural(len(after), 'operand')}"]
    orders = [after, after[::-1]] if one.commutes else [after]
    if any(all(is_same_edge(*pair, pairing) for pair in zip(before, order, strict=True)) for order in orders):
        return []
    pairs = zip(before, one.equation.operands, after, other.equation.operands, strict=True)
    return [f"{own.text} → {its.text}" for left, own, right, its in pairs if not is_same_edge(left, right, pairing)]


def is_same_edge(one: Edge, other: Edge, pairing: Pairing) -> bool:
    """Return whether two operands come from paired operations, or from the same input."""
    if one[0] == other[0] == "result":
        return pairing.forth.get(one[1]) == other[1] and one[2] == other[2]
    return one[:2] == other[:2]


def mirrored(what: str) -> str:
    """Return the same words from the view of the other program."""
    key, colon, sides = what.partition(": ") if "→" in what.partition(": ")[2] else ("", "", what)
    if key == "inside" or "→" not in sides:
        return what
    before, _, after = sides.partition(" → ")
    return f"{key}{colon}{after} → {before}"
