"""Find where two runs first differ.

The search goes back from results that differ through pairs that differ, and into the first step of a loop that differs.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace

from jax_debug_widgets.graphs.corresponding import Around, paired
from jax_debug_widgets.graphs.differences import Difference, other_operands, other_operation, other_results
from jax_debug_widgets.graphs.executed import ExecutedProgram, Turn, key_of
from jax_debug_widgets.graphs.figures import Figure, figure_of
from jax_debug_widgets.graphs.flat import Edge, FlatProgram
from jax_debug_widgets.graphs.pairing import Pairing
from jax_debug_widgets.graphs.program import Body, Equation


@dataclass(frozen=True, eq=False)
class Pair:
    """Two equations that correspond, and how far their results are apart.

    Attributes:
      operands: the operands that do not correspond; only known of the first pair that differs.
    """

    before: Equation
    after: Equation
    figures: tuple[Figure, ...]
    operands: tuple[Difference, ...] = ()

    @property
    def is_equal(self) -> bool:
        """Whether all results are equal bit by bit."""
        return all(one.verdict == "equal" for one in self.figures)

    @property
    def differs(self) -> bool:
        """Whether any result is beyond the tolerance."""
        return any(one.verdict == "differs" for one in self.figures)


@dataclass(frozen=True, eq=False)
class Parting:
    """Where two runs of one body first differ, see `Comparison`.

    Attributes:
      around: the loops and branches around `first` and `alone`, outermost first.
      steps: the first differing step of each loop among them.
      returned: where no equation differs, the results that do not correspond.
      origin: see `Comparison`.
    """

    first: Pair | None
    alone: tuple[Equation | None, Equation | None]
    around: tuple[Pair, ...] = ()
    steps: tuple[int, ...] = ()
    returned: tuple[Difference, ...] = ()
    origin: tuple[Equation | None, Equation | None] = (None, None)

    @property
    def is_empty(self) -> bool:
        """Whether it tells nothing."""
        return self.first is None and not any(self.alone) and not self.returned


@dataclass(frozen=True, eq=False)
class PairedRuns:
    """Two bodies that have run, with their equations paired.

    Attributes:
      flats: both bodies, with their calls inlined.
      pairing: the pairs of operations.
      pairs: number in the second body -> a pair, with how far its results are apart.
      unlike: the numbers in the second body of pairs whose results have different shapes, so that they cannot be compared.
      runs: the values of both.
      rtol: the relative tolerance; None for that of the dtype.
    """

    flats: tuple[FlatProgram, FlatProgram]
    pairing: Pairing
    pairs: dict[int, Pair]
    unlike: set[int]
    runs: tuple[ExecutedProgram | Turn, ExecutedProgram | Turn]
    rtol: float | None

    def parting(self, differ: Sequence[bool]) -> Parting:
        """Return where the runs first differ; `differ` says for each result whether it differs."""
        found = self._in_body(differ)
        if found.first is None or not found.first.before.bodies:
            return found
        inner = self._inside(found.first)
        if inner is None:
            return found
        if inner.returned and inner.first is None:
            return replace(inner, first=found.first, alone=found.alone)
        if not any(inner.origin):
            inner = replace(inner, origin=found.origin)
        return inner if any(inner.alone) else replace(inner, alone=found.alone)

    def _in_body(self, differ: Sequence[bool]) -> Parting:
        (one, other), pairing = self.flats, self.pairing
        ends = [edge for edge, is_other in zip(other.results, differ, strict=False) if is_other]
        close = {number for number, pair in self.pairs.items() if not pair.differs}
        way = [number for number in _made_of(other, ends, close) if number in self.pairs]
        first = min(way, default=None)
        if first is None:
            own_ends = [edge for edge, is_other in zip(one.results, differ, strict=False) if is_other]
        else:
            nodes = one.nodes[pairing.back[first]], other.nodes[first]
            own_ends, ends = nodes[0].operands, nodes[1].operands
            self.pairs[first] = replace(self.pairs[first], operands=tuple(other_operands(*nodes, pairing)))
        own_close = {pairing.back[number] for number in close}
        forth = {number: its for number, its in pairing.forth.items() if its not in self.unlike}
        alone = _alone(one, own_ends, own_close, forth), _alone(other, ends, close, set(forth.values()))
        if first is not None or any(alone):
            origin = (None, None) if first is None or any(alone) else self._origin(first)
            return Parting(None if first is None else self.pairs[first], alone, origin=origin)
        return Parting(None, alone, returned=tuple(other_results(one, other, pairing, differ)))

    def _origin(self, first: int) -> tuple[Equation | None, Equation | None]:
        """Return where the small differences begin from which this pair differs; nothing if it is itself another operation."""
        if self._is_edited(first):
            return None, None
        (one, other), pairing = self.flats, self.pairing
        equal = {number for number, pair in self.pairs.items() if pair.is_equal}
        its_way = _made_of(other, other.nodes[first].operands, equal)
        own_equal = {pairing.back[number] for number in equal}
        alone = (
            _alone(one, one.nodes[pairing.back[first]].operands, own_equal, pairing.forth),
            _alone(other, other.nodes[first].operands, equal, pairing.back),
        )
        if any(alone):
            return alone
        ways = [its_way, self.pairs.keys()] if isinstance(self.runs[1], Turn) else [its_way]  # Or in an earlier step.
        for way in ways:
            for number in sorted(way):
                if number in self.pairs and self._is_edited(number):
                    return self.pairs[number].before, self.pairs[number].after
        return None, None

    def _is_edited(self, number: int) -> bool:
        """Return whether a pair is of two operations, or of one on operands that do not correspond."""
        one, other = self.flats[0].nodes[self.pairing.back[number]], self.flats[1].nodes[number]
        return one.label != other.label or any(other_operands(one, other, self.pairing))

    def _inside(self, pair: Pair) -> Parting | None:
        """Return where they differ in the first differing step of a loop, or in the branch that was taken.

        Steps of loops that run in another direction do not correspond.
        """
        if any(one.about == "reverse" for one in other_operation(pair.before, pair.after)):
            return None
        turns = (run.inside(key_of(side)) for run, side in zip(self.runs, (pair.before, pair.after), strict=True))
        for one, other in zip(*turns, strict=False):
            if one.body != other.body:
                return None
            bodies = [_body_of(side, turn.body) for side, turn in ((pair.before, one), (pair.after, other))]
            if None in bodies or len(one.outputs) != len(other.outputs):
                return None
            differ = _differ(one.outputs, other.outputs, self.rtol)
            if any(differ):
                inner = paired_runs(bodies[0], bodies[1], one, other, self.rtol, self._around(pair)).parting(differ)  # pyright: ignore[reportArgumentType]
                if inner.is_empty:
                    return None
                steps = () if one.number is None else (one.number,)
                return replace(inner, around=(pair, *inner.around), steps=(*steps, *inner.steps))
        return None

    def _around(self, pair: Pair) -> Around:
        number = next(number for number, one in self.pairs.items() if one is pair)
        return Around(self.flats[0].nodes[self.pairing.back[number]], self.flats[1].nodes[number], self.pairing)


def paired_runs(
    before: Body,
    after: Body,
    one: ExecutedProgram | Turn,
    other: ExecutedProgram | Turn,
    rtol: float | None,
    around: Around | None = None,
) -> PairedRuns:
    """Pair the equations of two bodies, and compare their results."""
    flat, its_flat, pairing = paired(before, after, around)
    pairs: dict[int, Pair] = {}
    unlike: set[int] = set()
    for number, partner in sorted(pairing.back.items()):
        nodes = flat.nodes[partner], its_flat.nodes[number]
        own, its = one.of(nodes[0]), other.of(nodes[1])
        if own is None or its is None:
            continue
        if [a.shape for a in own] != [b.shape for b in its]:
            unlike.add(number)
            continue
        figures = tuple(figure_of(a, b, rtol) for a, b in zip(own, its, strict=True))
        pairs[number] = Pair(nodes[0].equation, nodes[1].equation, figures)
    return PairedRuns((flat, its_flat), pairing, pairs, unlike, (one, other), rtol)


def _differ(one: Sequence[object], other: Sequence[object], rtol: float | None) -> list[bool]:
    return [figure_of(a, b, rtol).verdict == "differs" for a, b in zip(one, other, strict=True)]


def _body_of(equation: Equation, key: str) -> Body | None:
    return next((one for one in equation.bodies if one.key == key), None)


def _alone(flat: FlatProgram, ends: Sequence[Edge], close: Container[int], paired: Container[int]) -> Equation | None:
    """Return the first equation without a counterpart, among those on which these values depend; None if all have one."""
    found = [number for number in _made_of(flat, ends, close) if number not in paired]
    return flat.nodes[min(found)].equation if found else None


def _made_of(flat: FlatProgram, ends: Sequence[Edge], close: Container[int]) -> set[int]:
    """Return the equations on which these values depend, up to those with close results."""
    todo = list(_equations_of(ends))
    seen: set[int] = set()
    while todo:
        number = todo.pop()
        if number not in seen and number not in close:
            seen.add(number)
            todo += _equations_of(flat.nodes[number].operands)
    return seen


def _equations_of(edges: Sequence[Edge]) -> Iterator[int]:
    return (edge[1] for edge in edges if edge[0] == "result")
