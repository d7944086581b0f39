"""Hold what runs have shown about the equations of a program: watched values, and the error by rounding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from jax_debug_widgets.graphs.against_float64 import AgainstFloat64
from jax_debug_widgets.graphs.program import Equation, Program


@dataclass(frozen=True)
class Seen:
    """By the number of an equation in the program.

    Attributes:
      not_finite: how many elements of its result were NaN or infinite, all steps together; of watched values alone.
      values: its result in the last step, in words: `-0.3 … 2.1`; of watched values alone.
      growth: how many times the error of its operands that of its result was, beside float64.
    """

    not_finite: Mapping[int, int] = field(default_factory=dict[int, int])
    values: Mapping[int, str] = field(default_factory=dict[int, str])
    growth: Mapping[int, float] = field(default_factory=dict[int, float])

    def of(self, numbers: Iterable[int]) -> str:
        """The values of these equations, in words; empty where none was watched."""
        return ", ".join(dict.fromkeys(self.values[one] for one in numbers if one in self.values))


def growth_in(program: Program, measured: AgainstFloat64) -> dict[int, float]:
    """The error growth of the equations of a program, if it is the one that was measured; else of none."""
    own, its = program.equations, measured.program.equations
    if len(own) != len(its) or any(map(_is_another, own, its)):
        return {}
    numbers = {(one.path, one.number): number for number, one in enumerate(own)}
    return {numbers[one.equation.path, one.equation.number]: one.growth for one in measured.roundings}


def _is_another(one: Equation, other: Equation) -> bool:
    return (one.primitive, one.types, one.path, one.source) != (other.primitive, other.types, other.path, other.source)
