"""Hold what runs have shown about the equations of a program: watched values, and rounding errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from jax_debug_widgets.graphs.against_float64 import AgainstFloat64
from jax_debug_widgets.graphs.program import Equation, Program


@dataclass(frozen=True)
class Seen:
    """What runs have shown, by the numbers of equations in the program.

    Attributes:
      not_finite: for watched equations: how many elements of the result were NaN or infinite, over all steps.
      values: for watched equations: the result in the last step, in words: `-0.3 … 2.1`.
      growth: the ratio of the result's error to the operands' error, compared with float64.
    """

    not_finite: Mapping[int, int] = field(default_factory=dict[int, int])
    values: Mapping[int, str] = field(default_factory=dict[int, str])
    growth: Mapping[int, float] = field(default_factory=dict[int, float])

    def of(self, numbers: Iterable[int]) -> str:
        """Return the values of these equations, in words; empty if none was watched."""
        return ", ".join(dict.fromkeys(self.values[one] for one in numbers if one in self.values))


def growth_in(program: Program, measured: AgainstFloat64) -> dict[int, float]:
    """Return the error growth of a program's equations; empty if another program was measured."""
    own, its = program.equations, measured.program.equations
    if len(own) != len(its) or any(map(_is_another, own, its)):
        return {}
    numbers = {(one.path, one.number): number for number, one in enumerate(own)}
    return {numbers[one.equation.path, one.equation.number]: one.growth for one in measured.roundings}


def _is_another(one: Equation, other: Equation) -> bool:
    return (one.primitive, one.types, one.path, one.source) != (other.primitive, other.types, other.path, other.source)
