"""Compare a program with the same program in float64: which line loses the digits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.graphs.figures import Figure
from jax_debug_widgets.graphs.flow import Flow
from jax_debug_widgets.graphs.page import Page, PageRow
from jax_debug_widgets.graphs.program import Equation, Program, Source, text_of
from jax_debug_widgets.graphs.rounding import Measure

if TYPE_CHECKING:
    import pandas as pd

LOSES = 10.0
"""An equation loses a digit if its error is this many times the error of its operands."""

_MOST_LINES = 10


@dataclass(frozen=True, eq=False)
class Rounding:
    """The rounding error of an equation, compared with float64.

    Attributes:
      error: the root mean square of the difference, relative to that of the result; in loops the largest of all steps.
      growth: `error` divided by the error of the operands; exact operands count half a unit in the last place.
      born: the largest growth in steps with operands within the tolerance: the loss of this equation itself.
      born_error: the error in the step of `born`.
      born_step: that step, for each loop around the equation.
      figures: the difference of each result, in the step with the largest error.
      first: the first step of each loop around it at which it is beyond the tolerance; None if it never is.
      invented: an infinity or NaN where float64 has a number, in words; empty if there is none.
      follows: whether another equation is the cause of `invented`.
      otherwise: how many booleans or whole numbers float64 would have decided otherwise.
    """

    equation: Equation
    error: float
    growth: float
    born: float
    born_error: float
    born_step: tuple[int, ...]
    figures: tuple[Figure, ...]
    first: tuple[int, ...] | None
    invented: str
    follows: bool
    otherwise: int

    @property
    def digits(self) -> float:
        """The number of decimal digits that the equation loses."""
        return math.log10(max(self.born, 1.0))

    def __repr__(self) -> str:
        what = self.invented or f"relative error {self.error:.2g}, × {self.growth:.2g} that of its operands"
        return f"<Rounding {text_of(self.equation)} ({self.equation.source or 'made by JAX'}): {what}>"


@dataclass(frozen=True, eq=False)
class AgainstFloat64:
    """The differences between a program and the same program in float64.

    Attributes:
      outputs: each output by its name, with its difference from float64.
      roundings: the equations that ran, in the order of the program; those of a body follow the equation that runs it.
      first: the first equation that was beyond the tolerance in the run; in loops its own `first` is the step.
      notes: what could not be followed, in words.
      source_lines: the text of the source lines.
    """

    program: Program
    outputs: Sequence[tuple[str, Figure]]
    roundings: Sequence[Rounding]
    first: Rounding | None = None
    notes: Sequence[str] = ()
    source_lines: Mapping[Source, str] = field(default_factory=dict[Source, str])

    @property
    def close(self) -> bool:
        """Whether all outputs are within the tolerance of their dtype."""
        return all(one.verdict != "differs" for _, one in self.outputs)

    @cached_property
    def broken(self) -> Rounding | None:
        """The first equation that makes an infinity or NaN where float64 has a number; None if there is none."""
        return next((one for one in self.roundings if one.invented and not one.equation.bodies), None)

    @cached_property
    def worst(self) -> Rounding | None:
        """The equation that loses the most digits; None if none loses any.

        If there is a `broken` equation, this is the worst equation that caused it, or the broken one itself.
        """
        losing = [one for one in self.roundings if one.born >= LOSES and not one.equation.bodies]
        losing = [one for one in losing if one.first is not None or not self.close]
        if self.broken is not None:
            before = self._before(self.broken) if self.broken.follows else []
            losing = [one for one in losing if one.first is not None and one.equation in before]
        return max(losing, key=lambda one: one.born, default=self.broken)

    def _before(self, one: Rounding) -> list[Equation]:
        """Return the equations on which an equation depends."""
        equations = self.program.equations
        return [equations[number] for number in Flow(self.program).before([equations.index(one.equation)])]

    @cached_property
    def by_line(self) -> Sequence[Rounding]:
        """For each source line and role, the equation with the largest growth, in the order of the program.

        Its `first` and `otherwise` are those of the whole line. Equations with bodies, and without a line, stand alone.
        """
        lines: dict[Any, list[Rounding]] = {}
        for one in self.roundings:
            at = one.equation.source
            key = id(one) if at is None or one.equation.bodies else (at.file, at.line, one.equation.role)
            lines.setdefault(key, []).append(one)
        return [_joined(own) for own in lines.values()]

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        if self.close:
            on_the_way = f"; on the way {self._loss_text(self.worst)}" if self.worst else ""
            return f"the outputs are within the tolerance{self._zeros}{on_the_way}"
        if self.worst is not None:
            return self._loss_text(self.worst)
        if (first := self.first) is not None:
            return f"the error builds up: beyond the tolerance first in `{self.text_of(first)}`{_at(first.first)}"
        return "the outputs are beyond the tolerance, and no equation that was followed is"

    @property
    def _zeros(self) -> str:
        """Say of outputs within the tolerance which are zero in float64 only."""
        found = [
            f"{name or 'the result'} up to {one.apart:.2g}" for name, one in self.outputs if one.scale and one.apart
        ]
        return f", but where float64 has 0 the program has {', '.join(found)}" if found else ""

    def _loss_text(self, worst: Rounding) -> str:
        if worst is self.broken:
            return f"`{self.text_of(worst)}` gives {worst.invented}{_at(worst.first)}"
        lost = plural(round(worst.digits), "digit") if worst.born_error < 1 else "all digits"
        error = f"relative error {worst.born_error:.2g}, {_times(worst.born)} that of its operands"
        follows = f"; from it {self._loss_text(self.broken)}" if self.broken else ""
        return f"`{self.text_of(worst)}` loses {lost}: {error}{_at(worst.born_step)}{follows}"

    def text_of(self, one: Rounding) -> str:
        """Return the source line of an equation; the equation as text if the source is unknown."""
        source = one.equation.source
        text = self.source_lines.get(source, "") if source is not None else ""
        return text.split("#")[0].strip() or text_of(one.equation)

    def page(self) -> Page:
        """Return the result as a page."""
        lines = [
            PageRow(
                ("output", name or "result", str(figure), "", "", ""),
                kind="changed" if figure.verdict == "differs" else "",
            )
            for name, figure in self.outputs
        ]
        relevant = [one for one in self.by_line if one.growth >= LOSES or one.otherwise or one.invented]
        largest = sorted(relevant, key=lambda one: -one.growth)[:_MOST_LINES]
        lines += [self._line(one) for one in relevant if one in largest]
        more = len(relevant) - len(largest)
        notes = [*([f"{plural(more, 'further line')} lose a digit or more"] if more else []), *self.notes, NOTE]
        title = f"{self.program.name} against float64: {self.headline}"
        return Page(title, ("", "name", "what", "error", "growth", "where"), lines, notes, longest=120)

    def _line(self, one: Rounding) -> PageRow:
        what = [self.text_of(one)]
        if one.invented:
            what.append(one.invented)
        if one.otherwise:
            what.append(f"{one.otherwise:,} decided otherwise in float64")
        if one.first:
            what.append(f"beyond the tolerance first{_at(one.first)}")
        name = next((name for name, noted in zip(one.equation.names, one.equation.noted, strict=True) if noted), "")
        where = str(one.equation.source or "")
        kind = "changed" if self.worst is not None and one.equation is self.worst.equation else ""
        role = "" if one.equation.role == "forward" else f" ({one.equation.role})"
        cells = f"line{role}", name, "; ".join(what), f"{one.error:.2g}", _times(one.growth), where
        return PageRow(cells, kind=kind)

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame with one row for each equation.

        Raises:
          ImportError: pandas is not installed (`pip install "jax-debug-widgets[pandas]"`).
        """
        import pandas as pd

        rows = [
            (
                one.equation.names[0] if one.equation.names else "",
                one.equation.primitive,
                one.error,
                one.growth,
                one.born,
                max((figure.ulp for figure in one.figures), default=0.0),
                one.first,
                one.otherwise,
                one.invented,
                str(one.equation.source or ""),
                one.equation.role,
            )
            for one in self.roundings
        ]
        return pd.DataFrame(rows, columns=list(_COLUMNS))

    def __repr__(self) -> str:
        return self.page().text()

    def _repr_html_(self) -> str:
        return self.page().html()


_COLUMNS = (
    "name", "primitive", "error", "growth", "born", "ulp", "first_step", "otherwise", "invented", "source", "role",
)  # fmt: skip

NOTE = (
    "Both ran equation by equation from the same numbers. What the program decides (comparisons, whole numbers, random bits, "
    "branches) holds for both."
)


def against_float64(
    program: Program,
    outputs: Sequence[tuple[str, Figure]],
    measures: Mapping[Any, Measure],
    first: Any = None,
    notes: Sequence[str] = (),
    source_lines: Mapping[Source, str] | None = None,
) -> AgainstFloat64:
    """Combine the measured errors with the equations of a program.

    Args:
      program: the program.
      outputs: each output by its name, with its difference from float64.
      measures: path and number of an equation -> its measured errors.
      first: path and number of the first equation beyond the tolerance.
      notes: what could not be followed, in words.
      source_lines: the text of the source lines.
    """
    found = {
        (one.path, one.number): Rounding(
            one,
            own.error,
            own.growth,
            own.born,
            own.born_error,
            own.born_step,
            own.figures,
            own.first,
            own.invented,
            own.follows,
            own.otherwise,
        )
        for one in program.equations
        if (own := measures.get((one.path, one.number))) is not None
    }
    return AgainstFloat64(program, outputs, list(found.values()), found.get(first), notes, source_lines or {})


def _joined(several: Sequence[Rounding]) -> Rounding:
    most = max(several, key=lambda one: one.growth)
    first = min((one.first for one in several if one.first is not None), default=None)
    return replace(most, first=first, otherwise=sum(one.otherwise for one in several))


def _at(steps: tuple[int, ...] | None) -> str:
    return f", at step {', '.join(map(str, steps))}" if steps else ""


def _times(growth: float) -> str:
    return "× ∞" if math.isinf(growth) else f"× {growth:.2g}" if growth >= LOSES else ""
