"""Compare a program as XLA compiles it with the same program run op by op: which line differs, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.graphs.figures import Figure
from jax_debug_widgets.graphs.flat import flat_of
from jax_debug_widgets.graphs.page import Page, PageRow
from jax_debug_widgets.graphs.program import Equation, Program, Source, text_of

if TYPE_CHECKING:
    import pandas as pd

Cause = Literal["", "operation", "fusion", "unknown"]


@dataclass(frozen=True, eq=False)
class Observed:
    """An equation with a value that was a result of the compiled program, and its difference from running op by op.

    Attributes:
      figures: the difference of each result.
      step: the first step of each loop around it at which it differs; empty outside of loops, and if it never differs.
    """

    equation: Equation
    figures: tuple[Figure, ...]
    step: tuple[int, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether any bit differs."""
        return any(one.verdict != "equal" for one in self.figures)


@dataclass(frozen=True, eq=False)
class AgainstOpByOp:
    """The differences between a compiled program and the same program run op by op.

    Attributes:
      outputs: each output by its name, with its difference from running op by op.
      cause: `operation`: an equation is compiled to something else, see `first`; `fusion`: equations that are compiled
        together give other numbers, see `pins`; `unknown`: the cause was not found; empty if all is equal.
      first: the first equation that differs although its operands are equal, in a program that returns all its values.
      pins: the fewest equations that must be computed apart, so that the numbers are those of op by op.
      passes: XLA's passes and options that decide the result, each with its effect. Without the pass, or with the option set,
        the numbers are those of op by op (`as op by op`) or others (`other numbers`).
      observed: all equations with values that were results of the compiled program at some point.
      notes: what could not be determined, in words.
      compiles: the number of programs that were compiled for the answer.
    """

    program: Program
    outputs: Sequence[tuple[str, Figure]]
    cause: Cause = ""
    first: Observed | None = None
    pins: Sequence[Equation] = ()
    passes: Sequence[tuple[str, str]] = ()
    observed: Sequence[Observed] = ()
    notes: Sequence[str] = ()
    compiles: int = 1
    source_lines: Mapping[Source, str] = field(default_factory=dict[Source, str])

    @property
    def equal(self) -> bool:
        """Whether all outputs are equal bit by bit."""
        return all(one.verdict == "equal" for _, one in self.outputs)

    @property
    def close(self) -> bool:
        """Whether all outputs are within the tolerance of their dtype."""
        return all(one.verdict != "differs" for _, one in self.outputs)

    @property
    def deciding(self) -> list[str]:
        """The passes and options that make the numbers those of op by op."""
        return [name for name, effect in self.passes if effect == AS_OP_BY_OP]

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        if self.equal:
            return "equal to the bit"
        verdict = "close" if self.close else "DIFFERENT"
        passes = f" ({', '.join(self.deciding)})" if self.deciding else ""
        if self.cause == "operation" and self.first is not None:
            step = f", at step {', '.join(map(str, self.first.step))}" if self.first.step else ""
            one = self.first.equation
            return f"{verdict}: {one.primitive} in `{self.line_of(one)}` is compiled to something else{step}{passes}"
        if self.cause == "fusion":
            lines = list(dict.fromkeys(f"`{self.line_of(one)}`" for one in self.pins))
            how = "product and sum are contracted (FMA)" if self.is_contracted else "it is fused with what uses it"
            return f"{verdict}: the numbers are those of op by op if {' and '.join(lines[:3])} is made apart: {how}{passes}"
        return f"{verdict}: the line was not found{passes}"

    @property
    def is_contracted(self) -> bool:
        """Whether XLA uses FMA: each pin is a product that a sum uses, and no algebraic simplification decides."""
        flat = flat_of(self.program.body, [("input", at) for at in range(len(self.program.body.inputs))])
        numbers = {(one.equation.path, one.equation.number): one.number for one in flat.nodes}
        sums = [one for one in flat.nodes if one.equation.primitive in ("add", "sub", "add_any")]
        summed = {edge[1] for one in sums for edge in one.operands if edge[0] == "result"}
        if not self.pins or any("algsimp" in one for one in self.deciding):
            return False
        return all(one.primitive == "mul" and numbers.get((one.path, one.number)) in summed for one in self.pins)

    def line_of(self, one: Equation) -> str:
        """Return the source line of an equation; the equation as text if the source is unknown."""
        text = self.source_lines.get(one.source, "") if one.source is not None else ""
        return text.split("#")[0].strip() or text_of(one)

    def page(self) -> Page:
        """Return the result as a page."""
        lines = [
            PageRow(
                ("output", name or "result", str(figure), ""), kind="changed" if figure.verdict == "differs" else ""
            )
            for name, figure in self.outputs
        ]
        if self.cause == "operation" and self.first is not None:
            one = self.first
            worst = next(figure for figure in one.figures if figure.verdict != "equal")
            lines.append(
                PageRow(("first", one.equation.names[0], self.line_of(one.equation), str(one.equation.source or "")))
            )
            lines.append(PageRow(("", "", str(worst), "")))
        lines += [
            PageRow(("made apart", one.names[0], self.line_of(one), str(one.source or "")))
            for one in (self.pins if self.cause == "fusion" else ())
        ]
        lines += [PageRow(("XLA", name, effect, "")) for name, effect in self.passes]
        searched = f"{plural(self.compiles, 'program')} compiled for this." if self.compiles > 1 else ""
        notes = [*self.notes, *([searched] if searched else [])]
        title = f"{self.program.name} jitted and op by op: {self.headline}"
        return Page(title, ("", "name", "what", "where"), lines, notes, longest=120)

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame with one row for each observed equation.

        Raises:
          ImportError: pandas is not installed (`pip install "jax-debug-widgets[pandas]"`).
        """
        import pandas as pd

        rows = [
            (
                one.equation.names[0] if one.equation.names else "",
                one.equation.primitive,
                "equal" if not one.differs else "differs",
                max((figure.ulp for figure in one.figures), default=0.0),
                one.step,
                one.equation in self.pins,
                str(one.equation.source or ""),
            )
            for one in self.observed
        ]
        return pd.DataFrame(rows, columns=["name", "primitive", "verdict", "ulp", "first_step", "pin", "source"])

    def __repr__(self) -> str:
        return self.page().text()

    def _repr_html_(self) -> str:
        return self.page().html()


AS_OP_BY_OP = "as op by op"
OTHER_NUMBERS = "other numbers"
