"""Find the values that a choice takes elements from, and how to tell which: `jnp.where(x > 0, jnp.log(x), 0.0)`.

A check of such a value looks at the elements that are taken: by a choice whose result goes on for certain, or by one whose
result another choice takes. If the value does not go there element by element, or comes out of a loop, a branch or a function,
it counts where the choice takes all elements.
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
"""Primitives whose results have each element where the operands have it."""


@dataclass(frozen=True)
class Pick:
    """A choice on the way of a value: it takes the value where `chooser` is `case`.

    `is_aligned` says whether the value's elements stand at the same positions there; if not, a choice of all elements counts.
    """

    chooser: Any
    case: int
    is_aligned: bool = True


Way = tuple[Pick, ...]
"""The choices that a value passes, one in the other: an element goes on if each takes it."""

_MOST = 4
"""The most choices of a way, and the most ways of a value, that are looked at."""


@dataclass(frozen=True)
class Choice:
    """The ways of a value to choices; an element is taken if it goes on by one of them.

    Attributes:
      number: the position in the body of the last equation that chooses.
      ways: the ways.
    """

    number: int
    ways: tuple[Way, ...]

    @property
    def choosers(self) -> list[Any]:
        """The variables that choose."""
        return [pick.chooser for way in self.ways for pick in way]

    def mask(self, choosers: Sequence[Any], shape: tuple[int, ...]) -> Any:
        """Which elements of a value of this shape are taken, given what chooses."""
        given = iter(choosers)
        ways = [[_taken(pick, next(given)) for pick in way] for way in self.ways]
        return jnp.broadcast_to(reduce(jnp.logical_or, [reduce(jnp.logical_and, way) for way in ways]), shape)

    def apart(self) -> Choice:
        """The choice of a value whose elements do not stand where those of the chosen one do."""
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
    """The choices of a body that each of its values goes to.

    What goes to the results without a choice has none. What is read from an array to be put back there is not taken.

    Args:
      certain: the variables that go to the results for certain.
      computed: those of them that do not go there by way of a test for NaN alone.
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
    """The one choice that takes what an equation gives, all of it or nothing; None where there is none."""
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
    if is_of_conditions(
        equation
    ):  # `(i < n) & (x[i] > 0)` takes the second where the first holds; `|` where it does not.
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
    """The choice of what `pick` takes for a value that has a `choice`, or goes to the results for certain."""
    ways = choice.ways if choice else ()
    if not pick.is_aligned and choice:
        ways = choice.apart().ways
    longer = tuple((pick, *way) for way in ways if len(way) < _MOST)
    if is_certain:
        return Choice(number, ((pick,),))
    return Choice(max(number, choice.number), longer) if choice and longer else None
