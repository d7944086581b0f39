"""Describe in words how two paired equations differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, repeat

from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.graphs.flat import Edge, FlatOperation, FlatProgram
from jax_debug_widgets.graphs.pairing import Pairing
from jax_debug_widgets.graphs.program import Equation, Operand


@dataclass(frozen=True)
class Difference:
    """What differs between two paired equations.

    Attributes:
      before, after: both sides, as text.
      about: a word for what differs, such as the name of a parameter; may be empty.
    """

    before: str
    after: str
    about: str = ""

    def mirrored(self) -> Difference:
        """Return the same from the view of the other program."""
        return Difference(self.after, self.before, self.about)

    def __str__(self) -> str:
        return f"{self.about}{': ' if self.about else ''}{self.before} → {self.after}"


def differences(one: FlatOperation, other: FlatOperation) -> Iterator[Difference]:
    """Yield the differences between two operations, except those of their operands."""
    before, after = one.equation, other.equation
    if one.itself != other.itself:
        yield from other_operation(before, after)
    types = [", ".join(map(str, own.types)) for own in (before, after)]
    if types[0] != types[1]:
        yield Difference(*types)
    if one.rules != other.rules:
        yield Difference(*(", ".join(own.rules) or "no rule for derivatives" for own in (one, other)))


def other_operation(before: Equation, after: Equation) -> Iterator[Difference]:
    """Yield the differences between the primitives, or between the parameters of one primitive."""
    if before.primitive != after.primitive:
        yield Difference(before.primitive, after.primitive)
        return
    for key in sorted(before.params.keys() | after.params.keys()):
        if before.params.get(key) != after.params.get(key):
            yield Difference(before.params.get(key, "none"), after.params.get(key, "none"), key)


def other_operands(one: FlatOperation, other: FlatOperation, pairing: Pairing) -> Iterator[Difference]:
    """Yield the operands that do not correspond, such as `2.0 → 3.0` for numbers.

    If the bodies are compared, the operands that they read are left out: the body that uses them shows the difference.
    """
    if one.down == other.down:
        return
    inside = len(one.equation.bodies) == len(other.equation.bodies)
    before, after = (_operands(own, inside=inside) for own in (one, other))
    if len(before) != len(after):
        yield Difference(str(len(before)), str(len(after)), "operands")
        return
    orders = [after, after[::-1]] if one.commutes else [after]
    pairs = [[pair for pair in zip(before, order, strict=True) if not _corresponds(pair, pairing)] for order in orders]
    for (left, own), (right, its) in min(pairs, key=len):
        yield _apart((left, _text(left, own)), (right, _text(right, its)), pairing)


def other_results(
    before: FlatProgram, after: FlatProgram, pairing: Pairing, wanted: Sequence[bool] | None = None
) -> Iterator[Difference]:
    """Yield the results of two bodies that do not correspond; `wanted` says which are looked at, None for all."""
    own, its = (list(zip(flat.results, flat.texts, strict=True)) for flat in (before, after))
    if len(own) != len(its):
        yield Difference(plural(len(own), "result"), plural(len(its), "result"))
        return
    for left, right in compress(zip(own, its, strict=True), wanted or repeat(True)):
        if not is_same_edge(left[0], right[0], pairing):
            yield _apart(left, right, pairing)


def _apart(left: tuple[Edge, str], right: tuple[Edge, str], pairing: Pairing) -> Difference:
    """Return two values that do not correspond, with their makers if their texts are equal."""
    texts = left[1], right[1]
    if texts[0] == texts[1]:  # Two values have one name, or both are arrays.
        makers = pairing.maker(0, left[0]), pairing.maker(1, right[0])
        if makers[0] == makers[1]:
            makers = pairing.maker(0, left[0], at_line=True), pairing.maker(1, right[0], at_line=True)
        if makers[0] == makers[1] and (name := pairing.name_in_other(left[0])):
            return Difference(name, texts[1])
        texts = f"{texts[0]}{makers[0]}", f"{texts[1]}{makers[1]}"
    return Difference(*texts)


def _operands(one: FlatOperation, *, inside: bool) -> list[tuple[Edge, Operand]]:
    """Return the operands of an operation; with `inside`, without the operands that its bodies read."""
    read = {at for body in one.equation.bodies for at in body.given} if inside else set[int | None]()
    pairs = zip(one.operands, one.equation.operands, strict=True)
    return [pair for place, pair in enumerate(pairs) if place not in read]


def _corresponds(pair: tuple[tuple[Edge, Operand], tuple[Edge, Operand]], pairing: Pairing) -> bool:
    """Whether two operands are the same. Equal numbers of different dtypes are, because operations choose their dtype."""
    (left, own), (right, its) = pair
    is_number = own.kind == its.kind == "number" and own.type != its.type
    return is_same_edge(left, right, pairing) or (is_number and own.text == its.text)


def _text(edge: Edge, operand: Operand) -> str:
    """Return an operand as text; a number that was cast is written as in the source."""
    return edge[2] if edge[0] == "constant" else operand.text


def is_same_edge(one: Edge, other: Edge, pairing: Pairing) -> bool:
    """Return whether two operands come from paired operations, from the same computation, or from the same input."""
    if one[0] == other[0] == "result":
        is_paired = pairing.forth.get(one[1]) == other[1]
        return one[2] == other[2] and (is_paired or pairing.compute_the_same(one[1], other[1]))
    return one[:2] == other[:2]
