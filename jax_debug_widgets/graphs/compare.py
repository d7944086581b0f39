"""Two programs that have run, compared: their outputs, what stands for each other inside, and where they part first."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.graphs.diff import paired
from jax_debug_widgets.graphs.figures import Figure, figure_of
from jax_debug_widgets.graphs.flat import Edge, FlatProgram, Node
from jax_debug_widgets.graphs.page import Line, Page
from jax_debug_widgets.graphs.program import Equation, Program, text_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class ExecutedProgram:
    """A program with the values of one run.

    Attributes:
      paths: what its outputs are called, `['w']`; `outputs`: their values.
      values: the path and number of an equation -> its results.
      inputs: what it was given, PRNG keys as their numbers; empty where that is not known.
    """

    program: Program
    paths: Sequence[str]
    outputs: Sequence[Any]
    values: Mapping[Any, Sequence[Any]]
    inputs: Sequence[Any] = ()

    def of(self, node: Node) -> Sequence[Any] | None:
        """The results of an equation."""
        return self.values.get((node.equation.path, node.equation.number))


@dataclass(frozen=True, eq=False)
class Pair:
    """Two equations that stand for each other, and how far their results are apart."""

    before: Equation
    after: Equation
    figures: tuple[Figure, ...]

    @property
    def differs(self) -> bool:
        """Whether any result is beyond the tolerance."""
        return any(one.verdict == "differs" for one in self.figures)


@dataclass(frozen=True, eq=False)
class Comparison:
    """How two functions compare on the same arguments.

    Attributes:
      outputs: each output by its name with how far the two are apart.
      pairs: the equations of both that stand for each other, in the order of the second.
      only: how many equations stand for none of the other program.
      first: where they part: the first pair that differs on the way to an output that does. What differs and comes together
        again is none.
      alone: the first equation of each program that stands for none of the other, and that this pair is computed of, or if
        no pair differs an output that does; None where there is none.
      structure: what keeps the outputs from being compared one by one, in words.
      arguments: of the arguments that are not the same each by its name with how it differs.
    """

    names: tuple[str, str]
    outputs: Sequence[tuple[str, Figure]]
    pairs: Sequence[Pair]
    only: tuple[int, int]
    first: Pair | None
    alone: tuple[Equation | None, Equation | None] = (None, None)
    structure: str = ""
    arguments: Sequence[tuple[str, str]] = ()

    @property
    def equal(self) -> bool:
        """Whether all outputs are equal to the bit."""
        return not self.structure and all(one.verdict == "equal" for _, one in self.outputs)

    @property
    def close(self) -> bool:
        """Whether all outputs are within the tolerance."""
        return not self.structure and all(one.verdict != "differs" for _, one in self.outputs)

    def page(self) -> Page:
        """All of it, to be shown."""
        said = "equal to the bit" if self.equal else "close" if self.close else "DIFFERENT"
        lines = [Line(("argument", name, how, ""), kind="changed") for name, how in self.arguments]
        lines += [
            Line(("output", name or "result", str(figure), ""), kind="changed" if figure.verdict == "differs" else "")
            for name, figure in self.outputs
        ]
        if self.first is not None:
            worst = next(one for one in self.first.figures if one.verdict == "differs")
            sides = ((self.names[0], self.first.before), (self.names[1], self.first.after))
            lines += [Line(("first", name, text_of(one), str(one.source or ""))) for name, one in sides]
            lines.append(Line(("", "", str(worst), "")))
        word = "first" if self.first is None else "before it"
        for name, one in zip(self.names, self.alone, strict=True):
            if one is not None:
                lines.append(Line((word, f"only in {name}", text_of(one), str(one.source or ""))))
        notes = [self.structure] if self.structure else []
        notes.append(
            f"{len(self.pairs)} pairs of equations; {self.only[0]} only in {self.names[0]}, {self.only[1]} only in "
            f"{self.names[1]}. Both ran equation by equation: XLA has fused nothing."
        )
        given = ", of other arguments" if self.arguments else ""
        return Page(
            f"{self.names[0]} and {self.names[1]}: {said}{given}",
            ("", "name", "what", "where"),
            lines,
            notes,
            longest=120,
        )

    def to_pandas(self) -> pd.DataFrame:
        """A row a pair of equations, in the order of the second program.

        Raises:
          ImportError: pandas is not installed (`pip install "jax-debug-widgets[pandas]"`).
        """
        import pandas as pd

        rows = [(text_of(one.before), text_of(one.after), *_worst(one), *_places(one)) for one in self.pairs]
        columns = ["before", "after", "verdict", "apart", "relative", "ulp", "source_before", "source_after"]
        return pd.DataFrame(rows, columns=columns)

    def __repr__(self) -> str:
        return self.page().text()

    def _repr_html_(self) -> str:
        return self.page().html()


def _worst(pair: Pair) -> tuple[str, float, float, float]:
    """The verdict of the result that is furthest apart, and how far."""
    order = ("equal", "close", "differs")
    worst = max(pair.figures, key=lambda one: (order.index(one.verdict), one.relative), default=Figure("equal"))
    return worst.verdict, worst.apart, worst.relative, worst.ulp


def _places(pair: Pair) -> tuple[str, str]:
    return str(pair.before.source or ""), str(pair.after.source or "")


def compare(before: ExecutedProgram, after: ExecutedProgram, rtol: float | None = None) -> Comparison:
    """Compare two programs that have run on the same arguments."""
    one, other, pairing = paired(before.program.body, after.program.body)
    pairs: dict[int, Pair] = {}
    for number, partner in sorted(pairing.back.items()):
        nodes = one.nodes[partner], other.nodes[number]
        own, its = before.of(nodes[0]), after.of(nodes[1])
        if own is None or its is None or [a.shape for a in own] != [b.shape for b in its]:
            continue
        figures = tuple(figure_of(a, b, rtol) for a, b in zip(own, its, strict=True))
        pairs[number] = Pair(nodes[0].equation, nodes[1].equation, figures)
    outputs = [
        (path, figure_of(a, b, rtol)) for path, a, b in zip(after.paths, before.outputs, after.outputs, strict=False)
    ]
    structure = ""
    if list(before.paths) != list(after.paths):
        structure = (
            f"The outputs are not alike: {before.program.name} gives {_told(before.paths)}, and {after.program.name} "
            f"{_told(after.paths)}. Those above are compared in their order."
        )
    differ = [figure.verdict == "differs" for _, figure in outputs]
    ends = [edge for edge, is_other in zip(other.results, differ, strict=False) if is_other]
    close = {number for number, pair in pairs.items() if not pair.differs}
    way = [number for number in _made_of(other, ends, close) if number in pairs]
    first = min(way, default=None)
    if first is None:
        own_ends = [edge for edge, is_other in zip(one.results, differ, strict=False) if is_other]
    else:
        own_ends, ends = one.nodes[pairing.back[first]].operands, other.nodes[first].operands
    own_close = {pairing.back[number] for number in close}
    alone = _alone(one, own_ends, own_close, pairing.forth), _alone(other, ends, close, pairing.back)
    only = len(one.nodes) - len(pairing.forth), len(other.nodes) - len(pairing.back)
    return Comparison(
        (before.program.name, after.program.name),
        outputs,
        list(pairs.values()),
        only,
        None if first is None else pairs[first],
        alone,
        structure,
        list(_other_arguments(before, after)),
    )


def _told(paths: Sequence[str]) -> str:
    """The names of outputs, in words."""
    return ", ".join(path or "an array by itself" for path in paths) or "nothing"


def _other_arguments(before: ExecutedProgram, after: ExecutedProgram) -> Iterator[tuple[str, str]]:
    """Which arguments are not the same to the bit, and how; nothing where those of before are not known."""
    own, its = (ran.program.body.inputs for ran in (before, after))
    if len(before.inputs) != len(own):  # A file of an earlier version.
        return
    if [one.text for one in own] != [one.text for one in its]:
        yield "all", " against ".join(", ".join(one.text for one in inputs) or "none" for inputs in (own, its))
        return
    for one, other, a, b in zip(own, its, before.inputs, after.inputs, strict=True):
        figure = figure_of(a, b)
        if str(one.type) != str(other.type):
            yield other.text, f"DIFFERS: {one.type} against {other.type}"
        elif figure.verdict != "equal":
            yield other.text, "DIFFERS: another key" if other.type.dtype.startswith("key<") else str(figure)


def _alone(flat: FlatProgram, ends: Sequence[Edge], close: Container[int], paired: Container[int]) -> Equation | None:
    """The first of the equations without a pair that these values are made of."""
    found = [number for number in _made_of(flat, ends, close) if number not in paired]
    return flat.nodes[min(found)].equation if found else None


def _made_of(flat: FlatProgram, ends: Sequence[Edge], close: Container[int]) -> set[int]:
    """The equations that these values are made of, up to those that are close."""
    todo = [edge[1] for edge in ends if edge[0] == "result"]
    seen: set[int] = set()
    while todo:
        number = todo.pop()
        if number not in seen and number not in close:
            seen.add(number)
            todo += [edge[1] for edge in flat.nodes[number].operands if edge[0] == "result"]
    return seen
