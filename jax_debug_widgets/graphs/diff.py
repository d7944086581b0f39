"""Compare two programs: which equations are the same, changed, added, removed, or in another order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.graphs.change_counts import WORDS, Kind, inside_text, passes_text
from jax_debug_widgets.graphs.checkpoints import checkpoints_apart
from jax_debug_widgets.graphs.corresponding import Around, flats_of
from jax_debug_widgets.graphs.differences import Difference, differences, other_operands, other_results
from jax_debug_widgets.graphs.flat import FlatOperation, FlatProgram, hash_down, hash_up, live_in
from jax_debug_widgets.graphs.page import Page, PageRow
from jax_debug_widgets.graphs.pairing import Pairing, out_of_order
from jax_debug_widgets.graphs.program import Body, Equation, Program, text_of
from jax_debug_widgets.graphs.unrolled import unrolled_text

if TYPE_CHECKING:
    import pandas as pd

_MOST_RESULTS = 2
"""The most results that the headline names."""

_MIRRORED: dict[Kind, Kind] = {"added": "removed", "removed": "added"}


@dataclass(frozen=True, eq=False)
class EquationChange:
    """A change of one equation: an equation of one program, or a pair of equations.

    Attributes:
      kind: `same`, `changed`, `added`, `removed`, or `moved` (in another order).
      before, after: the equations; None if the program has none here.
      differences: what differs between the two.
      inside: the differences in each body, if both have bodies.
      note: what an added or removed equation is, in words.
    """

    kind: Kind
    before: Equation | None
    after: Equation | None
    differences: tuple[Difference, ...] = ()
    inside: tuple[Diff, ...] = ()
    note: str = ""

    @property
    def what(self) -> tuple[str, ...]:
        """The changes, in words."""
        inside = (f"inside: {inner.headline}" for inner in self.inside if not inner.is_in_order)
        return (*((self.note,) if self.note else ()), *map(str, self.differences), *inside)

    def mirrored(self) -> EquationChange:
        """Return the same change from the view of the other program."""
        return EquationChange(
            _MIRRORED.get(self.kind, self.kind),
            self.after,
            self.before,
            tuple(one.mirrored() for one in self.differences),
            tuple(inner.mirrored() for inner in self.inside),
            self.note,
        )


class Diff(Sequence[EquationChange]):
    """The changes between two programs, in the order of the second.

    Attributes:
      names: the names of both programs.
      results: whether they return the same results of paired equations, in the same order.
      returned: the results that do not correspond.
      program: the second program; None for a body.
      is_same_executable: whether XLA makes the same executable of both; None if they were not compiled.
    """

    def __init__(
        self,
        names: tuple[str, str],
        changes: Sequence[EquationChange],
        *,
        results: bool,
        returned: Sequence[Difference] = (),
        program: Program | None = None,
        is_same_executable: bool | None = None,
    ) -> None:
        self.names, self.results, self._changes, self.program = names, results, tuple(changes), program
        self.returned = tuple(returned)
        self.is_same_executable = is_same_executable

    def __len__(self) -> int:
        return len(self._changes)

    def __getitem__(self, index: int) -> EquationChange:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._changes[index]

    def of_kind(self, kind: Kind) -> list[EquationChange]:
        """Return the changes of one kind."""
        return [one for one in self if one.kind == kind]

    @cached_property
    def counts(self) -> Counter[Kind]:
        """The number of changes of each kind."""
        return Counter(one.kind for one in self)

    @property
    def is_same(self) -> bool:
        """Whether both programs compute the same, in any order."""
        return self.results and not any(self.counts[kind] for kind in ("changed", "added", "removed"))

    @property
    def is_in_order(self) -> bool:
        """Whether both programs compute the same in the same order, so that JAX's caches take them for one program."""
        return self.is_same and not self.counts["moved"]

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        counts = self.counts
        before = sum(one.before is not None for one in self)
        after = sum(one.after is not None for one in self)
        if self.is_same:
            order = f"{counts['moved']} of them in another order" if counts["moved"] else "in the same order"
            return f"the same computation: {plural(after, 'equation')}, {order}"
        kinds = [f"{counts[kind]} {WORDS[kind]}{self._about(kind)}" for kind in WORDS if counts[kind]]
        results = [] if self.results else [f"returns {self._other_results()}"]
        return f"{before} → {plural(after, 'equation')}: {', '.join([*kinds, *results])}"

    def _about(self, kind: Kind) -> str:
        """Return the passes of added or removed equations, or the changes inside changed ones, in words; may be empty."""
        if kind == "changed":
            returned = any(body.returned for one in self for body in one.inside)
            return inside_text(Counter(one.kind for one in _innermost(self)), other_results=returned)
        equations = (one.after or one.before for one in self.of_kind(kind))
        roles = Counter[str](one.role for one in equations if one is not None)
        return passes_text(roles) if kind in ("added", "removed") else ""

    def _other_results(self) -> str:
        more = ["…"] if len(self.returned) > _MOST_RESULTS else []
        return ", ".join([*map(str, self.returned[:_MOST_RESULTS]), *more]) or "another structure"

    def mirrored(self) -> Diff:
        """Return the same diff from the view of the other program."""
        changes, returned = [one.mirrored() for one in self], [one.mirrored() for one in self.returned]
        return Diff((self.names[1], self.names[0]), changes, results=self.results, returned=returned)

    def page(self) -> Page:
        """Return the changes as a page; equal equations are folded."""
        sides = self.names if self.names[0] != self.names[1] else ("before", "after")
        title = f"{self.names[0]} → {self.names[1]}: {self.headline}"
        if self.is_same_executable is not None:
            title += f"; XLA makes {'the same executable' if self.is_same_executable else 'two executables'} of them"
        return Page(title, ("equation", "what", *sides), list(self.lines(0)))

    def lines(self, indent: int) -> Iterator[PageRow]:
        """Yield the rows of the page, indented by `indent` levels."""
        same = 0
        for one in self:
            if one.kind == "same":
                same += 1
                continue
            yield from _folded(same, indent)
            same = 0
            equation = one.after or one.before
            role = (
                [equation.role] if equation and equation.role != "forward" and one.kind in ("added", "removed") else []
            )
            moved = [WORDS["moved"]] if one.kind == "moved" and not one.what else []
            what = "; ".join([*one.what, *moved, *role])
            sources = (str(side.source or "") if side else "" for side in (one.before, one.after))
            yield PageRow((text_of(equation) if equation else "", what, *sources), indent, one.kind)
            for inner in one.inside:
                if not inner.is_in_order:
                    yield from inner.lines(indent + 1)
        if indent or same < len(self):
            yield from _folded(same, indent)
        if indent and self.returned:
            yield PageRow((f"returns {self._other_results()}", "", "", ""), indent, "changed")

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame with one row for each change; changes inside bodies are left out.

        Raises:
          ImportError: pandas is not installed (`pip install "jax-debug-widgets[pandas]"`).
        """
        import pandas as pd

        rows = [
            (one.kind, *(text_of(side) if side else "" for side in (one.before, one.after)), "; ".join(one.what))
            for one in self
        ]
        return pd.DataFrame(rows, columns=["kind", "before", "after", "what"])

    def __repr__(self) -> str:
        return self.page().text()

    def _repr_html_(self) -> str:
        return self.page().html()


def _innermost(found: Diff) -> Iterator[EquationChange]:
    """Yield the changes inside loops and branches, not the loops and branches that differ only inside."""
    for one in (one for one in found if one.kind != "same"):
        for inner in one.inside:
            yield from (its for its in inner if its.kind != "same" and (its.differences or not its.inside))
            yield from _innermost(inner)


def diff(before: Program, after: Program, *, dead: bool = True, is_same_executable: bool | None = None) -> Diff:
    """Compare two programs. Swapping them gives the mirrored diff.

    Args:
      before, after: the programs.
      dead: whether equations that no result needs count as added or removed.
      is_same_executable: see `Diff`.
    """
    found = _diff_of(before.body, after.body, (before.name, after.name), dead=dead)
    return Diff(
        found.names,
        tuple(found),
        results=found.results and before.structure == after.structure,
        returned=found.returned,
        program=after,
        is_same_executable=is_same_executable,
    )


def _diff_of(
    before: Body, after: Body, names: tuple[str, str], *, dead: bool = True, around: Around | None = None
) -> Diff:
    one, other = flats_of(before, after, around, checkpoints=True)
    computed = hash_down(one), hash_down(other)
    # Pairs are always searched in the same direction, so that swapping the programs mirrors the diff.
    if (len(one.nodes), computed[0], [node.down for node in one.nodes]) > (
        len(other.nodes), computed[1], [node.down for node in other.nodes],
    ):  # fmt: skip
        return _compared(other, one, (names[1], names[0]), dead=dead).mirrored()
    return _compared(one, other, names, dead=dead)


def _compared(before: FlatProgram, after: FlatProgram, names: tuple[str, str], *, dead: bool) -> Diff:
    hash_up(before)
    hash_up(after)
    pairing = Pairing(before, after).find()
    changes = {
        number: _change(before, after, one, number, pairing, dead=dead) for number, one in sorted(pairing.back.items())
    }
    needed = [None if dead else live_in(flat) for flat in (before, after)]
    same = [number for number, one in changes.items() if one.kind == "same"]
    for number in out_of_order(same, [pairing.back[number] for number in same]):
        changes[number] = EquationChange("moved", changes[number].before, changes[number].after)
    for node in _counting(after, needed[1]):
        note = unrolled_text(node, before, pairing.forth) if node.number not in changes else ""
        changes.setdefault(node.number, EquationChange("added", None, node.equation, note=note))
    ordered = [((number, 0, 0), one) for number, one in changes.items()]
    place = -1
    for node in before.nodes:
        if node.number in pairing.forth:
            place = pairing.forth[node.number]
        elif needed[0] is None or node.number in needed[0]:
            note = unrolled_text(node, after, pairing.back)
            ordered.append(((place, 1, node.number), EquationChange("removed", node.equation, None, note=note)))
    for one in checkpoints_apart(before, after, pairing):
        kind: Kind = "changed" if one.differences else "added" if one.after else "removed"
        change = EquationChange(kind, one.before, one.after, one.differences, note=one.note)
        ordered.append(((one.place, -1, 0), change))
    ordered.sort(key=lambda one: one[0])
    returned = list(other_results(before, after, pairing))
    return Diff(names, [one for _, one in ordered], results=not returned, returned=returned)


def _counting(flat: FlatProgram, needed: set[int] | None) -> list[FlatOperation]:
    return [one for one in flat.nodes if needed is None or one.number in needed]


def _change(
    before: FlatProgram, after: FlatProgram, one: int, other: int, pairing: Pairing, *, dead: bool
) -> EquationChange:
    left, right = before.nodes[one], after.nodes[other]
    inside: tuple[Diff, ...] = ()
    what = (*differences(left, right), *other_operands(left, right, pairing))
    around = Around(left, right, pairing)
    if not around.runs_the_same and len(left.equation.bodies) == len(right.equation.bodies):
        bodies = zip(left.equation.bodies, right.equation.bodies, strict=True)
        inside = tuple(_diff_of(own, its, (own.key, its.key), dead=dead, around=around) for own, its in bodies)
    kind: Kind = "changed" if what or not all(inner.is_same for inner in inside) else "same"
    if kind == "same" and not all(inner.is_in_order for inner in inside):
        kind = "moved"
    return EquationChange(kind, left.equation, right.equation, what, inside)


def _folded(count: int, indent: int) -> Iterator[PageRow]:
    if count:
        yield PageRow((f"… {count} the same", "", "", ""), indent, "same")
