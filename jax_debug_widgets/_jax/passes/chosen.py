"""Find the elements of a value that choices keep: `jnp.where(x > 0, jnp.log(x), 0.0)` keeps some elements of the logarithm.

A check of a value looks only at the elements that reach the program's results: through one choice, or through several, one
inside the other. If the elements of the value do not stand at the same positions in the choice, or if the value is the result
of a loop, a branch or a function, the check counts the value only if the choice keeps all elements.
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
from jax_debug_widgets._jax.passes.certain import cases_of, certain_operands, is_of_conditions, tests_for_nan
from jax_debug_widgets._jax.passes.kept_writes import Definitions, equation_of, put_back

_ELEMENTWISE = frozenset(
    re.split(
        r"\s+",
        "abs acos acosh add asin asinh atan atan2 atanh cbrt ceil convert_element_type copy cos cosh digamma div eq "
        "erf erf_inv erfc exp exp2 expm1 floor ge gt integer_pow is_finite le lgamma log log1p logistic lt max min mul ne "
        "neg nextafter not pow rem round rsqrt sign sin sinh sqrt square sub tan tanh",
    )
)
"""Primitives that compute each element of the result from the elements of the operands at the same position."""


@dataclass(frozen=True)
class Pick:
    """A choice between a value and the results: it keeps an element of the value where `chooser` equals `case`.

    `is_aligned` says whether the elements of the value stand at the same positions in the choice. If not, the choice keeps the
    value only if it keeps all elements.
    """

    chooser: Any
    case: int
    is_aligned: bool = True


Way = tuple[Pick, ...]
"""The choices between a value and the results, the nearest to the value first. An element passes if all keep it."""

_MOST = 4
"""The most choices of a way, and the most ways of a value. Further ones are left out."""


@dataclass(frozen=True)
class Choice:
    """The ways of a value to the results. An element reaches the results if it does so by at least one way.

    Attributes:
      number: the index in the body of the last equation that chooses.
      ways: the ways.
    """

    number: int
    ways: tuple[Way, ...]

    @property
    def choosers(self) -> list[Any]:
        """The variables that choose, in the order of the ways."""
        return [pick.chooser for way in self.ways for pick in way]

    def mask(self, choosers: Sequence[Any], shape: tuple[int, ...]) -> Any:
        """Compute which elements of a value reach the results: bool[shape], from the values of `choosers`."""
        given = iter(choosers)
        ways = [[_taken(pick, next(given)) for pick in way] for way in self.ways]
        return jnp.broadcast_to(reduce(jnp.logical_or, [reduce(jnp.logical_and, way) for way in ways]), shape)

    def apart(self) -> Choice:
        """Return the choice for a value whose elements do not stand at the positions of the chosen ones."""
        ways = (tuple(replace(pick, is_aligned=False) for pick in way) for way in self.ways)
        return Choice(self.number, tuple(dict.fromkeys(ways)))


def _taken(pick: Pick, chooser: Any) -> Any:
    taken = chooser == np.asarray(pick.case, chooser.dtype)
    return taken if pick.is_aligned else jnp.all(taken)


def choices_of(
    jaxpr: core.Jaxpr,
    certain: AbstractSet[Any],
    computed: AbstractSet[Any],
    definitions: Definitions,
    defined: Sequence[Any],
) -> dict[Any, Choice]:
    """Return, for each variable of a body that reaches the results only through choices, these choices.

    A variable that is read from an array only to be put back there has none.

    Args:
      certain: the variables that certainly reach the results.
      computed: the members of `certain` that reach them otherwise than through a test for NaN.
      definitions: see `Definitions`.
      defined: the equations of the body and of the functions that it calls, see `define`.
    """
    writes = [one for one in defined if one.primitive.name == "dynamic_update_slice"]
    kept = {id(read) for write in writes for read in put_back(write, definitions)}
    found: dict[Any, Choice] = {}
    for number, equation in reversed([*enumerate(jaxpr.eqns)]):
        for atom, choice in zip(equation.invars, _of_operands(number, equation, found, certain), strict=True):
            if isinstance(atom, core.Var) and choice is not None and atom not in computed:
                found[atom] = _either(found[atom], choice) if atom in found else choice
    return {one: choice for one, choice in found.items() if id(equation_of(one, definitions)) not in kept}


def choice_of_all(outvars: Sequence[Any], certain: AbstractSet[Any], choices: Mapping[Any, Choice]) -> Choice | None:
    """Return the choice that keeps either all results of an equation or none of them; None if there is no such choice."""
    found = {choices[one].apart() for one in outvars if one in choices}
    is_chosen = len(found) == 1 and certain.isdisjoint(outvars)
    return found.pop() if is_chosen else None


def _either(one: Choice, other: Choice) -> Choice:
    ways = tuple(dict.fromkeys((*one.ways, *other.ways)))
    return Choice(max(one.number, other.number), ways[:_MOST])


def _of_operands(
    number: int, equation: Any, found: Mapping[Any, Choice], certain: AbstractSet[Any]
) -> Sequence[Choice | None]:
    if len(equation.outvars) != 1 or not equation.invars:
        return [None] * len(equation.invars)
    (out,), operands = equation.outvars, equation.invars
    choice, shape = found.get(out), out.aval.shape
    cases = cases_of(equation)
    if cases and isinstance(operands[0], core.Var):
        picks = [Pick(operands[0], case, one.aval.shape == shape) for case, one in cases]
        return [None, *(_also(number, pick, choice, is_certain=out in certain) for pick in picks)]
    # `(i < n) & (x[i] > 0)` needs the second operand where the first is true, `|` where it is false.
    if is_of_conditions(equation):
        one, other = operands
        case, is_aligned = int(equation.primitive.name == "and"), one.aval.shape == other.aval.shape
        picks = [Pick(by, case, is_aligned) for by in (other, one)]
        return [_also(number, pick, choice, is_certain=out in certain) for pick in picks]
    if choice is None or equation.effects or tests_for_nan(equation):
        return [None] * len(operands)
    goes_on = certain_operands(equation, {out})
    stays = equation.primitive.name in _ELEMENTWISE
    return [
        (choice if stays and one.aval.shape == shape else choice.apart())
        if any(one is other for other in goes_on)
        else None
        for one in operands
    ]


def _also(number: int, pick: Pick, choice: Choice | None, *, is_certain: bool) -> Choice | None:
    """Return the choice for an operand of `pick`, whose result has `choice` or certainly reaches the results."""
    ways = choice.ways if choice else ()
    if not pick.is_aligned and choice:
        ways = choice.apart().ways
    longer = tuple((pick, *way) for way in ways if len(way) < _MOST)
    if is_certain:
        return Choice(number, ((pick,),))
    return Choice(max(number, choice.number), longer) if choice and longer else None
