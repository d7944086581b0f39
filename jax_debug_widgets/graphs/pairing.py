"""Find which operations of two programs correspond.

Each round pairs operations that the earlier rounds have left over: those with the same computation, the same use, the
same name, the same operation beside pairs, the same place in the source, and those between pairs. Within a round
operations are paired in the order of the program.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from itertools import product

from jax_debug_widgets.graphs.flat import Edge, FlatOperation, FlatProgram

_LOOPS = frozenset({"scan", "while", "cond", "shard_map", "pallas_call"})


class Pairing:
    """The pairs found so far.

    Attributes:
      forth: number of an operation in the first program -> number of its partner in the second.
      back: the reverse of `forth`.
    """

    def __init__(self, before: FlatProgram, after: FlatProgram) -> None:
        self._before, self._after = before, after
        self.forth: dict[int, int] = {}
        self.back: dict[int, int] = {}
        self._users = _users_of(before), _users_of(after)
        self._ends = _ends_of(before), _ends_of(after)

    def find(self) -> Pairing:
        """Run all rounds."""
        self._round(lambda one: (one.down, one.up))
        self._at_places(lambda one: one.down)
        self._round(lambda one: one.down)
        self._round(lambda one: one.up)
        self._at_places(lambda one: (one.label, one.name) if one.name else None)
        self._at_places(lambda one: one.label)
        self._round(lambda one: (one.label, one.name) if one.name else None)
        self._beside_pairs()
        self._round(lambda one: (one.label, _numbers_of(one), _function_of(one)) if _numbers_of(one) else None)
        self._round(lambda one: (one.equation.primitive, one.equation.source) if one.equation.source else None)
        self._round(lambda one: (one.name, _runs_bodies(one)) if one.name else None)
        self._between_pairs()
        self._at_places(lambda one: one.equation.primitive)
        self._round(lambda one: one.equation.primitive if one.equation.primitive in _LOOPS else None)
        self._round(_line_of)
        self._round(lambda one: (one.label, _function_of(one)))
        return self

    def _at_places(self, key: Callable[[FlatOperation], Hashable]) -> None:
        """Pair operations with equal keys that are in the same columns, first in functions of one name, then in any functions.

        The columns stay the same when lines are added above, or when the function is copied and edited.
        """
        for of_function in (_function_of, lambda _: None):

            def at_place(
                one: FlatOperation, of_function: Callable[[FlatOperation], str | None] = of_function
            ) -> Hashable:
                source, wanted = one.equation.source, key(one)
                if source is None or source.column < 0 or wanted is None:
                    return None
                return wanted, of_function(one), source.column, source.end_column

            self._round(at_place)

    def _pair(self, one: FlatOperation, other: FlatOperation) -> None:
        self.forth[one.number], self.back[other.number] = other.number, one.number

    def _left(self) -> tuple[list[FlatOperation], list[FlatOperation]]:
        before = [one for one in self._before.nodes if one.number not in self.forth]
        return before, [one for one in self._after.nodes if one.number not in self.back]

    def _round(self, key: Callable[[FlatOperation], Hashable]) -> None:
        before, after = self._left()
        waiting: dict[Hashable, list[FlatOperation]] = {}
        for other in reversed(after):
            waiting.setdefault(key(other), []).append(other)
        for one in before:
            wanted = key(one)
            if wanted is not None and waiting.get(wanted):
                self._pair(one, waiting[wanted].pop())

    def _beside_pairs(self) -> None:
        """Pair equal operations among the operands and users of pairs.

        The pairs found in this way are searched in the same way.
        """
        todo = deque(sorted(self.forth.items()))
        while todo:
            one, other = todo.popleft()
            found = [*self._operands_of(one, other), *self._users_of_pair(one, other)]
            for left, right in found:
                if left.number not in self.forth and right.number not in self.back and left.label == right.label:
                    self._pair(left, right)
                    todo.append((left.number, right.number))

    def _operands_of(self, one: int, other: int) -> list[tuple[FlatOperation, FlatOperation]]:
        pairs = zip(self._before.nodes[one].operands, self._after.nodes[other].operands, strict=False)
        made = ((left, right) for left, right in pairs if left[0] == right[0] == "result")
        return [(self._before.nodes[left[1]], self._after.nodes[right[1]]) for left, right in made]

    def _users_of_pair(self, one: int, other: int) -> list[tuple[FlatOperation, FlatOperation]]:
        before, after = (
            users.get(number, [])[:_MOST_USERS] for users, number in zip(self._users, (one, other), strict=True)
        )
        same = ((left, right) for left, right in product(before, after) if left[1] == right[1])
        return [(self._before.nodes[left[0]], self._after.nodes[right[0]]) for left, right in same]

    def _between_pairs(self) -> None:
        """Pair operations with the same types that use results of pairs and are used by pairs."""
        before, after = self._left()
        by_type: dict[tuple[str, ...], list[FlatOperation]] = {}
        for other in after:
            by_type.setdefault(tuple(map(str, other.equation.types)), []).append(other)
        for one in before:
            candidates = by_type.get(tuple(map(str, one.equation.types)), [])[:_MOST_USERS]
            found = next(
                (other for other in candidates if other.number not in self.back and self._fits(one, other)), None
            )
            if found is not None:
                self._pair(one, found)

    def _fits(self, one: FlatOperation, other: FlatOperation) -> bool:
        given = {(*edge[:1], self.forth.get(edge[1], -1)) if edge[0] == "result" else edge[:2] for edge in one.operands}
        shares = bool(given & {edge[:2] for edge in other.operands})
        users = {self.forth.get(number) for number, _ in self._users[0].get(one.number, ())} - {None}
        is_used = bool(users & {number for number, _ in self._users[1].get(other.number, ())})
        is_used = is_used or bool(self._ends[0].get(one.number, set()) & self._ends[1].get(other.number, set()))
        is_alike = one.equation.primitive == other.equation.primitive
        return shares and (is_used or is_alike) and _runs_bodies(one) == _runs_bodies(other)

    def compute_the_same(self, one: int, other: int) -> bool:
        """Return whether two operations compute the same from the same inputs, paired or not."""
        return self._before.nodes[one].down == self._after.nodes[other].down

    def computed(self, side: int, edge: Edge) -> Edge:
        """Return a key of the computation of an operand of program `side`. Results of paired operations have equal keys."""
        if edge[0] != "result":
            return edge[:2]
        number = self.forth.get(edge[1]) if side == 0 else edge[1]
        node = self._before.nodes[edge[1]] if number is None else self._after.nodes[number]
        return (node.down, edge[2])

    def name_in_other(self, edge: Edge) -> str:
        """Return the name that a value of the first program has in the second; empty if its operation has no partner."""
        if edge[0] != "result" or edge[1] not in self.forth:
            return ""
        return self._after.nodes[self.forth[edge[1]]].equation.names[edge[2]]

    def maker(self, side: int, edge: Edge, *, at_line: bool = False) -> str:
        """Return where an operand comes from, in words: its primitive, with `at_line` its line, or the hash of an array.

        `side` is 0 for an operand of the first program, 1 for one of the second.
        """
        flat = (self._before, self._after)[side]
        if edge[0] == "result":
            made = flat.nodes[edge[1]].equation
            line = f", :{made.source.line}" if at_line and made.source else ""
            return f" ({made.primitive}{line})"
        return f" ({str(edge[1])[:_DIGITS]})" if edge[0] == "constant" else ""


_DIGITS = 6
"""The number of digits that are shown of the hash of an array."""

_MOST_USERS = 64
"""The most users of one value that are searched."""


def _runs_bodies(one: FlatOperation) -> bool:
    """Whether it is a loop or a branch: such an operation is no change of another one."""
    return one.equation.primitive in _LOOPS


def _line_of(one: FlatOperation) -> Hashable:
    source = one.equation.source
    return (one.equation.primitive, *map(str, one.equation.types), source.file, source.line) if source else None


def _function_of(one: FlatOperation) -> str | None:
    return one.equation.source.function if one.equation.source else None


def _numbers_of(one: FlatOperation) -> tuple[Hashable, ...]:
    """Return the digests of the constants among its operands, such as that of 0.5 in `0.5 * x`."""
    return tuple(edge[1] for edge in one.operands if edge[0] == "constant")


def _users_of(flat: FlatProgram) -> dict[int, list[tuple[int, int]]]:
    """Map each node to the nodes that use it, with the position of the operand."""
    users: dict[int, list[tuple[int, int]]] = {}
    for node in flat.nodes:
        for at, edge in enumerate(node.operands):
            if edge[0] == "result":
                users.setdefault(edge[1], []).append((node.number, 0 if node.commutes else at))
    return users


def _ends_of(flat: FlatProgram) -> dict[int, set[tuple[int, int]]]:
    """Map each node to the results of the program that it computes: (position there, position among its own results)."""
    ends: dict[int, set[tuple[int, int]]] = {}
    for at, edge in enumerate(flat.results):
        if edge[0] == "result":
            ends.setdefault(edge[1], set()).add((at, edge[2]))
    return ends


def out_of_order(numbers: Sequence[int], others: Sequence[int]) -> list[int]:
    """Return the numbers outside of a longest subsequence whose partners in `others` ascend."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for place, other in enumerate(others):
        at = bisect_left(tails, other)
        tails[at : at + 1], ends[at : at + 1] = [other], [place]
        before.append(ends[at - 1] if at else -1)
    kept, place = set(), ends[-1] if ends else -1
    while place >= 0:
        kept.add(place)
        place = before[place]
    return [number for place, number in enumerate(numbers) if place not in kept]
