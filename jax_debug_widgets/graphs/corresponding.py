"""Find the inputs and operands of two programs that correspond."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from jax_debug_widgets.graphs.flat import Edge, FlatOperation, FlatProgram, flat_of, hash_down, hash_up
from jax_debug_widgets.graphs.pairing import Pairing
from jax_debug_widgets.graphs.program import Body, Program


@dataclass(frozen=True, eq=False)
class Around:
    """Two paired operations that run bodies, and the pairing of their programs."""

    before: FlatOperation
    after: FlatOperation
    pairing: Pairing

    @cached_property
    def keys(self) -> tuple[list[Edge], list[Edge]]:
        """A key for each operand of both operations. Operands that correspond have equal keys."""
        own = [self.pairing.computed(0, edge) for edge in self.before.operands]
        return own, [self.pairing.computed(1, edge) for edge in self.after.operands]

    @cached_property
    def runs_the_same(self) -> bool:
        """Whether the bodies are the same in the same order, and read the same values in the same places."""
        own, its = ((one.label, one.order) for one in (self.before, self.after))
        return own == its and self._read(0) == self._read(1)

    def _read(self, side: int) -> list[list[Edge | None]]:
        bodies, keys = (self.before, self.after)[side].equation.bodies, self.keys[side]
        return [[keys[at] if at is not None else None for at in body.given] for body in bodies]


def flats_of(
    before: Body, after: Body, around: Around | None = None, *, checkpoints: bool = False
) -> tuple[FlatProgram, FlatProgram]:
    """Return two bodies with their calls inlined.

    Args:
      before, after: the bodies.
      around: the operations that run them, if any.
      checkpoints: whether calls of `jax.checkpoint` are inlined too.
    """
    one, other = (
        flat_of(body, keys, checkpoints=checkpoints)
        for body, keys in zip((before, after), _input_keys(before, after, around), strict=True)
    )
    return one, other


def paired(before: Body, after: Body, around: Around | None = None) -> tuple[FlatProgram, FlatProgram, Pairing]:
    """Return two bodies with their calls inlined, and the pairing of their operations."""
    one, other = flats_of(before, after, around)
    for flat in (one, other):
        hash_down(flat)
        hash_up(flat)
    return one, other, Pairing(one, other).find()


def computes_the_same(before: Program, after: Program) -> bool:
    """Return whether two programs compute the same results from the same inputs, in any order."""
    one, other = flats_of(before.body, after.body)
    return hash_down(one) == hash_down(other)


def _input_keys(before: Body, after: Body, around: Around | None) -> Iterator[list[Edge]]:
    """Yield the keys of each body's inputs.

    Inputs that always equal an operand correspond if the operands do. Other inputs correspond by a name that is unique in
    both bodies, else by their order.
    """
    changing = [_changing(body) for body in (before, after)]
    shared = {name for name in changing[0] if changing[0].count(name) == changing[1].count(name) == 1}
    outer: Sequence[list[Edge]] = around.keys if around else ([], [])
    for body, keys, edges in zip((before, after), outer, _operands_of(around), strict=True):
        rest = iter(range(len(body.inputs)))
        yield [
            (edges[at] if edges[at][0] == "constant" else ("input", keys[at]))
            if at is not None and around
            else ("input", one.text if one.text in shared else next(rest))
            for one, at in zip(body.inputs, body.given or [None] * len(body.inputs), strict=True)
        ]


def _operands_of(around: Around | None) -> tuple[Sequence[Edge], Sequence[Edge]]:
    return (around.before.operands, around.after.operands) if around else ((), ())


def _changing(body: Body) -> list[str]:
    """Return the names of the inputs that change from run to run of the body."""
    given = body.given or [None] * len(body.inputs)
    return [one.text for one, at in zip(body.inputs, given, strict=True) if at is None]
