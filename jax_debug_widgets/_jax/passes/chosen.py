"""Find the values that a choice takes elements from, and how to tell which: `jnp.where(x > 0, jnp.log(x), 0.0)`.

A check of such a value looks at the elements that are taken. The value must go nowhere else but to a choice whose result goes
on for certain. If it does not go there element by element, or comes out of a loop, a branch or a function, it counts where the
choice takes all elements.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import jax.numpy as jnp
import numpy as np

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.passes.certain import certain_operands, is_of_conditions
from jax_debug_widgets._jax.passes.kept_writes import Definitions, equation_of, put_back

_ELEMENTWISE = frozenset(
    re.split(
        r"\s+",
        "abs acos acosh add asin asinh atan atan2 atanh cbrt ceil convert_element_type copy cos cosh digamma div eq "
        "erf erf_inv erfc exp exp2 expm1 floor ge gt integer_pow is_finite le lgamma log log1p logistic lt max min mul ne "
        "neg nextafter not pow rem round rsqrt sign sin sinh sqrt square sub tan tanh",
    )
)
"""Primitives whose results have each element where the operands have it."""


@dataclass(frozen=True)
class Choice:
    """A choice that takes elements of a value.

    Attributes:
      number: the position of its equation in the body.
      chooses: the variables that choose, each with its number where the value is taken.
      is_aligned: whether the value's elements stand at the same positions there.
    """

    number: int
    chooses: tuple[tuple[Any, int], ...]
    is_aligned: bool = True

    @property
    def choosers(self) -> list[Any]:
        """The variables that choose."""
        return [one for one, _ in self.chooses]

    def mask(self, choosers: Sequence[Any], shape: tuple[int, ...]) -> Any:
        """Which elements of a value of this shape are taken, given what chooses."""
        pairs = zip(choosers, self.chooses, strict=True)
        taken = reduce(jnp.logical_and, [one == np.asarray(case, one.dtype) for one, (_, case) in pairs])
        return jnp.broadcast_to(taken if self.is_aligned else jnp.all(taken), shape)


def choices_of(
    jaxpr: core.Jaxpr, certain: AbstractSet[Any], definitions: Definitions, defined: Sequence[Any]
) -> dict[Any, Choice]:
    """The choice that each value of a body goes to and nowhere else.

    What is read from an array to be put back there is not taken.

    Args:
      certain: the variables that go to the results for certain.
      definitions: see `Definitions`.
      defined: the equations of the body and of the functions that it calls, see `define`.
    """
    writes = [one for one in defined if one.primitive.name == "dynamic_update_slice"]
    kept = {id(read) for write in writes for read in put_back(write, definitions)}
    ways: dict[Any, Choice | None] = {one: None for one in jaxpr.outvars if isinstance(one, core.Var)}
    for number, equation in reversed([*enumerate(jaxpr.eqns)]):
        for atom, way in zip(equation.invars, _of_operands(number, equation, ways, certain), strict=True):
            if isinstance(atom, core.Var):
                ways[atom] = way if ways.get(atom, way) == way else None
    return {one: way for one, way in ways.items() if way and id(equation_of(one, definitions)) not in kept}


def choice_of_all(outvars: Sequence[Any], certain: AbstractSet[Any], choices: Mapping[Any, Choice]) -> Choice | None:
    """The one choice that takes what an equation gives, all of it or nothing; None where there is none."""
    found = {replace(choices[one], is_aligned=False) for one in outvars if one in choices}
    is_chosen = len(found) == 1 and certain.isdisjoint(outvars)
    return found.pop() if is_chosen else None


def _of_operands(
    number: int, equation: Any, ways: Mapping[Any, Choice | None], certain: AbstractSet[Any]
) -> Sequence[Choice | None]:
    if len(equation.outvars) != 1 or not equation.invars:
        return [None] * len(equation.invars)
    (out,), operands = equation.outvars, equation.invars
    cases = _cases(equation)
    if cases and isinstance(operands[0], core.Var):
        shape = out.aval.shape
        made = [Choice(number, ((operands[0], case),), one.aval.shape == shape) for case, one in cases]
        return [None, *(made if out in certain else [None] * len(made))]
    way = ways.get(out)
    if is_of_conditions(equation):
        return _of_conditions(number, equation, way, is_certain=out in certain)
    if way is None or equation.effects:
        return [None] * len(operands)
    stays = way.is_aligned and equation.primitive.name in _ELEMENTWISE
    goes_on = certain_operands(equation, {out})
    return [
        replace(way, is_aligned=stays and one.aval.shape == out.aval.shape)
        if any(one is other for other in goes_on)
        else None
        for one in operands
    ]


def _of_conditions(number: int, equation: Any, way: Choice | None, *, is_certain: bool) -> Sequence[Choice | None]:
    """The ways of two conditions: `(i < n) & (x[i] > 0)` takes the second where the first holds, `|` where it does not."""
    if way is None and not is_certain:
        return [None, None]
    number, further, is_aligned = (way.number, way.chooses, way.is_aligned) if way else (number, (), True)
    one, other = equation.invars
    is_aligned &= one.aval.shape == other.aval.shape
    case = int(equation.primitive.name == "and")
    return [Choice(number, ((by, case), *further), is_aligned) for by in (other, one)]


def _cases(equation: Any) -> list[tuple[int, Any]]:
    """The operands that an equation chooses from, each with the number that chooses it; empty for other equations."""
    name, (chooses, *cases) = equation.primitive.name, equation.invars
    if name == "select_n":
        return [*enumerate(cases)]
    is_where = name in ("jit", "pjit") and equation.params.get("name") in ("_where", "where")
    if is_where and len(cases) == 2 and chooses.aval.dtype == np.bool_:  # noqa: PLR2004
        return [*zip((1, 0), cases, strict=True)]
    return []
