"""Compare two programs that have run: their outputs, the equations that correspond, and where they first differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.graphs.differences import Difference, other_operation
from jax_debug_widgets.graphs.executed import LOOPS, ExecutedProgram
from jax_debug_widgets.graphs.figures import Figure, figure_of
from jax_debug_widgets.graphs.page import Page, PageRow
from jax_debug_widgets.graphs.parting import Pair, paired_runs
from jax_debug_widgets.graphs.program import Equation, text_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Comparison:
    """The comparison of two functions on the same arguments.

    Attributes:
      names: the names of both functions.
      outputs: each output by its name, with how far the two are apart.
      pairs: the equations that correspond, in the order of the second program.
      only: the number of equations without a counterpart, in each program.
      first: the first pair that differs, among those on which a differing output depends. A difference that vanishes
        again does not count.
      alone: for each program, the first equation without a counterpart of the same shape, among those on which `first`
        depends (if no pair differs: on which a differing output depends); None if there is none.
      origin: where `first` is the same operation in both, on close operands: the equations of both from which these
        differ, or one of them that the other program does not have; else None.
      around: the loops and branches around these, outermost first.
      steps: the first differing step of each loop among them.
      returned: where no equation differs, the results (of the program, or of the innermost of these loops) that do not
        correspond.
      structure: why the outputs cannot be compared one by one, in words; empty if they can.
      arguments: the arguments that are not the same, by name, with how they differ.
    """

    names: tuple[str, str]
    outputs: Sequence[tuple[str, Figure]]
    pairs: Sequence[Pair]
    only: tuple[int, int]
    first: Pair | None
    alone: tuple[Equation | None, Equation | None] = (None, None)
    origin: tuple[Equation | None, Equation | None] = (None, None)
    around: Sequence[Pair] = ()
    steps: Sequence[int] = ()
    returned: Sequence[Difference] = ()
    structure: str = ""
    arguments: Sequence[tuple[str, str]] = ()

    @property
    def equal(self) -> bool:
        """Whether all outputs are equal bit by bit."""
        return not self.structure and all(one.verdict == "equal" for _, one in self.outputs)

    @property
    def close(self) -> bool:
        """Whether all outputs are within the tolerance."""
        return not self.structure and all(one.verdict != "differs" for _, one in self.outputs)

    def page(self) -> Page:
        """Return the result as a page."""
        verdict = "equal to the bit" if self.equal else "close" if self.close else "DIFFERENT"
        names = self.names if self.names[0] != self.names[1] else ("before", "after")
        lines = [PageRow(("argument", name, how, ""), kind="changed") for name, how in self.arguments]
        lines += [
            PageRow(
                ("output", name or "result", str(figure), ""), kind="changed" if figure.verdict == "differs" else ""
            )
            for name, figure in self.outputs
        ]
        if self.first is not None:
            worst = next(one for one in self.first.figures if one.verdict == "differs")
            sides = ((names[0], self.first.before), (names[1], self.first.after))
            lines += [PageRow(("first", name, text_of(one), str(one.source or ""))) for name, one in sides]
            texts = [*map(str, other_operation(self.first.before, self.first.after))]
            if self.first.operands:
                texts.append(f"other operands: {', '.join(map(str, self.first.operands))}")
            lines.append(PageRow(("", "", "; ".join([str(worst), *texts]), "")))
        word = "first" if self.first is None else "before it"
        for name, one in zip(names, self.alone, strict=True):
            if one is not None:
                lines.append(PageRow((word, f"only in {name}", text_of(one), str(one.source or ""))))
        lines += [
            PageRow(("from", name if all(self.origin) else f"only in {name}", text_of(one), str(one.source or "")))
            for name, one in zip(names, self.origin, strict=True)
            if one is not None
        ]
        lines += [PageRow(("first", "returned", str(one), "")) for one in self.returned]
        if self.around:
            lines.append(PageRow(("", "in", *self._place())))
        notes = [self.structure] if self.structure else []
        alone = [f", {count} only in {name}" for count, name in zip(self.only, names, strict=True) if count]
        notes.append(
            f"{plural(len(self.pairs), 'equation')} in both{''.join(alone)}. "
            "Both ran operation by operation, without XLA's fusion."
        )
        given = ", for other arguments" if self.arguments else ""
        return Page(
            f"{self.names[0]} and {self.names[1]}: {verdict}{self._where()}{given}",
            ("", "name", "what", "where"),
            lines,
            notes,
            longest=120,
        )

    def _where(self) -> str:
        """Return the lines of the first difference, in words; empty if there is none."""
        pair = (self.first.before, self.first.after) if self.first else (None, None)
        sides = (alone or one for alone, one in zip(self.alone, pair, strict=True))
        lines = dict.fromkeys(str(one.source) for one in sides if one and one.source)
        origins = dict.fromkeys(
            str(one.source) for one in self.origin if one and str(one.source or "") not in {"", *lines}
        )
        given = f", from {' and '.join(origins)}" if origins else ""
        return f", first at {' and '.join(lines)}{given}" if lines else ""

    def _place(self) -> tuple[str, str]:
        """Return the loops around the difference with their steps, such as `step 3 of scan`, and the source line."""
        steps = iter(self.steps)
        lines = [
            f"step {next(steps)} of {one.after.primitive}" if one.after.primitive in LOOPS else one.after.primitive
            for one in self.around
        ]
        device = (
            "; its first index is the device" if any(one.after.primitive == "shard_map" for one in self.around) else ""
        )
        return f"{', '.join(lines)}: the first that differs{device}", str(self.around[-1].after.source or "")

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame with one row for each pair of equations, in the order of the second program.

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
    """Return the verdict for the result that differs most, and how far it is apart."""
    order = ("equal", "close", "differs")
    worst = max(pair.figures, key=lambda one: (order.index(one.verdict), one.relative), default=Figure("equal"))
    return worst.verdict, worst.apart, worst.relative, worst.ulp


def _places(pair: Pair) -> tuple[str, str]:
    return str(pair.before.source or ""), str(pair.after.source or "")


def compare(before: ExecutedProgram, after: ExecutedProgram, rtol: float | None = None) -> Comparison:
    """Compare two programs that have run on the same arguments."""
    both = paired_runs(before.program.body, after.program.body, before, after, rtol)
    outputs = [
        (path, figure_of(a, b, rtol)) for path, a, b in zip(after.paths, before.outputs, after.outputs, strict=False)
    ]
    structure = ""
    if list(before.paths) != list(after.paths):
        structure = (
            f"The outputs have different structures: {before.program.name} gives {_names_of_outputs(before.paths)}, and "
            f"{after.program.name} {_names_of_outputs(after.paths)}. The table compares them in order."
        )
    differ = [figure.verdict == "differs" for _, figure in outputs]
    parting = both.parting(differ)
    (one, other), pairing = both.flats, both.pairing
    only = len(one.nodes) - len(pairing.forth), len(other.nodes) - len(pairing.back)
    return Comparison(
        (before.program.name, after.program.name),
        outputs,
        list(both.pairs.values()),
        only,
        parting.first,
        parting.alone,
        parting.origin,
        parting.around,
        parting.steps,
        parting.returned,
        structure,
        list(_other_arguments(before, after)),
    )


def _names_of_outputs(paths: Sequence[str]) -> str:
    """Return the names of outputs, in words."""
    return ", ".join(path or "an array by itself" for path in paths) or "nothing"


def _other_arguments(before: ExecutedProgram, after: ExecutedProgram) -> Iterator[tuple[str, str]]:
    """Yield the arguments that are not equal bit by bit, and how they differ; nothing if `before` has no inputs."""
    own, its = (ran.program.body.inputs for ran in (before, after))
    if len(before.inputs) != len(own):  # A file of an earlier version has no inputs.
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
