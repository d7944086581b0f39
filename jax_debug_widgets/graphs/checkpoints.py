"""Find the calls of `jax.checkpoint` that only one of two programs has, around the equations that both have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.graphs.differences import Difference, other_operation
from jax_debug_widgets.graphs.flat import FlatOperation, FlatProgram
from jax_debug_widgets.graphs.pairing import Pairing
from jax_debug_widgets.graphs.program import Equation


@dataclass(frozen=True, eq=False)
class CheckpointApart:
    """A call of `jax.checkpoint` that differs between two programs.

    Attributes:
      place: the number of its first operation in the second program, or of the partner of its first operation.
      before, after: the call in each program; None if the program has no such call.
      differences: what differs between the two.
      note: what is inside of a call that one program has.
    """

    place: int
    before: Equation | None
    after: Equation | None
    differences: tuple[Difference, ...] = ()
    note: str = ""


def checkpoints_apart(before: FlatProgram, after: FlatProgram, pairing: Pairing) -> Iterator[CheckpointApart]:
    """Yield the calls that only one program has, or whose parameters differ."""
    partners = _partners(before, after, pairing)
    for side, flat in enumerate((before, after)):
        for equation, inside in _calls(flat):
            partner = partners.get(id(equation))
            if partner is None:
                sides = (None, equation) if side else (equation, None)
                note = f"jax.checkpoint around {plural(len(inside), 'equation')}"
                yield CheckpointApart(_place(inside, pairing, side), *sides, note=note)
            elif side and (differences := tuple(other_operation(partner, equation))):
                yield CheckpointApart(_place(inside, pairing, side), partner, equation, differences)


def _partners(before: FlatProgram, after: FlatProgram, pairing: Pairing) -> dict[int, Equation]:
    """Return `id` of a call -> the call of the other program that is around the partner of one of its operations."""
    found: dict[int, Equation] = {}
    for number, node in enumerate(after.nodes):
        if (own := pairing.back.get(number)) is not None:
            for one, other in zip(before.nodes[own].checkpoints, node.checkpoints, strict=False):
                if id(one) not in found and id(other) not in found:
                    found |= {id(one): other, id(other): one}
    return found


def _calls(flat: FlatProgram) -> Sequence[tuple[Equation, list[FlatOperation]]]:
    """Return each call with the operations in it."""
    found: dict[int, tuple[Equation, list[FlatOperation]]] = {}
    for node in flat.nodes:
        for one in node.checkpoints:
            found.setdefault(id(one), (one, []))[1].append(node)
    return list(found.values())


def _place(inside: Sequence[FlatOperation], pairing: Pairing, side: int) -> int:
    if side:
        return inside[0].number
    return next((pairing.forth[one.number] for one in inside if one.number in pairing.forth), -1)
