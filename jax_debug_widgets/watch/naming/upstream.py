"""Find the watched values of a body that each value is computed from: its NaN can come only from these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Upstream:
    """The values that one value of a body is computed from.

    Attributes:
      body: a number for the body.
      position: the value's position among the watched values of the body.
      sources: the positions of the values that it is computed from, itself included, as the bits of an integer.
    """

    body: int
    position: int
    sources: int

    def may_come_from(self, other: Upstream) -> bool:
        """Whether the value may be computed from another one. For values of other bodies this is unknown."""
        return self.body != other.body or bool(self.sources >> other.position & 1)


def upstream(jaxpr: Any, variables: Sequence[Any], body: int) -> list[Upstream]:
    """Return for each variable of a `Jaxpr` what it is computed from; a loop's results depend on all its operands."""
    own: dict[Any, int] = {}
    for position, variable in enumerate(variables):
        own[variable] = own.get(variable, 0) | 1 << position
    sources = {variable: own.get(variable, 0) for variable in (*jaxpr.constvars, *jaxpr.invars)}
    for equation in jaxpr.eqns:
        given = 0
        for operand in equation.invars:
            if not hasattr(operand, "val"):  # Literals have `val`.
                given |= sources.get(operand, 0)
        for variable in equation.outvars:
            sources[variable] = given | own.get(variable, 0)
    return [Upstream(body, position, sources.get(one, 0)) for position, one in enumerate(variables)]
