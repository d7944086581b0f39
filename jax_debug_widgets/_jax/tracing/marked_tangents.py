"""Mark each named tangent of a program with an identity that has the name of its value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.name_places import NamePlace, is_of_arguments
from jax_debug_widgets._jax.origins.name_registry import VariableNote, book
from jax_debug_widgets._jax.tracing.copies import is_array
from jax_debug_widgets._jax.tracing.marks import Mark, named_equation, stack_of_input


def with_marks(jaxpr: core.Jaxpr) -> core.Jaxpr:
    """Return the program with a mark behind each named tangent; the same object if it has none."""
    taken = {atom for eqn in jaxpr.eqns for atom in eqn.invars if not isinstance(atom, core.Literal)}
    noted: dict[Any, Sequence[VariableNote]] = {
        one: known
        for one in jaxpr.invars
        if one in taken and is_array(one.aval) and (known := book.of_input_tangent(one))
    }
    results = {one: known for eqn in jaxpr.eqns for one in eqn.outvars if (known := book.of_tangent(one)) is not None}
    # If an operation has become several equations with the same note, mark the last one.
    noted |= {
        one: [known] for known, one in {known: one for one, known in results.items()}.items() if is_array(one.aval)
    }
    return _Marked(jaxpr, noted).program() if noted else jaxpr


class _Marked:
    """Adds marks to a program; `noted` has the notes of its tangents."""

    def __init__(self, jaxpr: core.Jaxpr, noted: dict[Any, Sequence[VariableNote]]) -> None:
        self._jaxpr = jaxpr
        self._times = {id(equation): book.time_of(equation) for equation in jaxpr.eqns}
        self._takers: dict[Any, list[core.JaxprEqn]] = {one: [] for one in noted}
        for equation in jaxpr.eqns:
            for atom in equation.invars:
                if not isinstance(atom, core.Literal) and atom in noted:
                    self._takers[atom].append(equation)
        self._inputs = [one for one in jaxpr.invars if one in noted]
        self._steps: dict[Any, list[_Step]] = {}
        for one, known in noted.items():
            taken = [*(self._times[id(taker)] for taker in self._takers[one]), math.inf]
            self._steps[one] = list(_steps(one, known, taken, is_input=one in self._inputs))

    def program(self) -> core.Jaxpr:
        """Return the program with its marks: those of inputs first, those of results behind their equations."""
        equations: list[core.JaxprEqn] = []
        for one in self._inputs:
            first = self._takers[one][0]
            is_direct = any(step.mark.is_sure for step in self._steps[one])
            equations += self._marks(
                one, first.source_info.replace(name_stack=stack_of_input(is_direct=is_direct)), first.ctx
            )
        for equation in self._jaxpr.eqns:
            time = self._times[id(equation)]
            equations.append(equation.replace(invars=[self._at(time, atom) for atom in equation.invars]))
            for one in equation.outvars:
                equations += self._marks(one, equation.source_info, equation.ctx)
        return self._jaxpr.replace(eqns=equations, outvars=[self._at(math.inf, atom) for atom in self._jaxpr.outvars])

    def _at(self, time: float, atom: Any) -> Any:
        known = () if isinstance(atom, core.Literal) else self._steps.get(atom, ())
        return next((one.variable for one in reversed(known) if one.time < time), atom)

    def _marks(self, variable: Any, source_info: Any, context: Any) -> Iterator[core.JaxprEqn]:
        before = variable
        for step in self._steps.get(variable, ()):
            yield named_equation(before, step.variable, step.mark, source_info, context)
            before = step.variable


class _Step(NamedTuple):
    """A moment from which a tangent has names, the variable that replaces it from then on, and its mark."""

    time: float
    variable: Any
    mark: Mark


def _steps(variable: Any, noted: Sequence[VariableNote], taken: Sequence[float], *, is_input: bool) -> Iterator[_Step]:
    """Yield a step for each group of a variable's names; a use of the variable between two names starts a new group."""
    since = [(time, of, place) for of in noted for place, time in of.times.items()]
    if not is_input:  # A program notes the names of its arguments itself.
        since = [one for one in since if not is_of_arguments(one[2])]
    places: dict[VariableNote, set[NamePlace]] = {}
    for time, after in pairwise([*sorted({time for time, _, _ in since}), math.inf]):
        for _, of, place in (one for one in since if one[0] == time):
            places.setdefault(of, set()).add(place)
        if any(time < one <= after for one in taken):
            for of, known in places.items():
                yield _Step(time, core.Var(variable.aval), Mark(of, frozenset(known), is_of_input=is_input))
            places.clear()
