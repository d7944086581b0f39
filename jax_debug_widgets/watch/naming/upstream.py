"""Find which watched values of a body each value is computed from: its NaN can come only from these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Upstream:
    """The values that one value of a body is computed from.

    Attributes:
      body: a number for the body.
      position: the value's among those that are watched there.
      sources: the positions of those that it is computed from, itself included, as the bits of a number.
    """

    body: int
    position: int
    sources: int

    def may_come_from(self, other: Upstream) -> bool:
        """Whether the value is computed from another one; for values of other bodies this is unknown."""
        return self.body != other.body or bool(self.sources >> other.position & 1)


def upstream(jaxpr: Any, variables: Sequence[Any], body: int) -> list[Upstream]:
    """For each of the variables of a program (a `Jaxpr`) what it is computed from; a loop's results from all it is given."""
    own: dict[Any, int] = {}
    for position, variable in enumerate(variables):
        own[variable] = own.get(variable, 0) | 1 << position
    sources = {variable: own.get(variable, 0) for variable in (*jaxpr.constvars, *jaxpr.invars)}
    for equation in jaxpr.eqns:
        given = 0
        for operand in equation.invars:
            if not hasattr(operand, "val"):  # A literal has one.
                given |= sources.get(operand, 0)
        for variable in equation.outvars:
            sources[variable] = given | own.get(variable, 0)
    return [Upstream(body, position, sources.get(one, 0)) for position, one in enumerate(variables)]
