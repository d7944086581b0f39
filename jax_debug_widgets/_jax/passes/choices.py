"""Find the values that a choice may leave out: NaNs in them may be masked, as in `jnp.where(x > 0, jnp.log(x), 0.0)`.

A choice is a `select_n`. An operation on inexact numbers passes a NaN on; a comparison does not. A derivative may keep a value
as a residual, which reaches the gradients without going through the choice: no choice leaves out such a value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from jax_debug_widgets._jax.compat.private import core

_Path = tuple[int, ...]
"""A choice: the numbers of the equations that lead to it, outermost first; the last one is its own."""

_Ways = frozenset[tuple[_Path, int] | None]
"""The places that a variable reaches: cases of choices, as `(choice, case)`; None means a result of the program."""

_Choices = dict[_Path, tuple[int, _Ways]]
"""Choice -> the number of its cases, and the places that its result reaches."""

_NOWHERE: _Ways = frozenset()
_TO_RESULTS: _Ways = frozenset([None])


def left_out_by(jaxpr: core.Jaxpr) -> Mapping[core.Var, int]:
    """Map each variable that reaches the results only through choices to the number of its first choice's equation.

    A choice whose cases all use a variable does not leave it out.
    """
    found = _followed(jaxpr, [_TO_RESULTS] * len(jaxpr.outvars), (), {})
    return {one: min(case[0][0] for case in ways if case) for one, ways in found.items() if None not in ways}


def _followed(jaxpr: core.Jaxpr, results: Sequence[_Ways], path: _Path, choices: _Choices) -> dict[core.Var, _Ways]:
    """Return for each variable the results and choice cases that it reaches, given those that the program's results reach."""
    found: dict[core.Var, _Ways] = {}

    def add(atoms: Sequence[Any], ways: Sequence[_Ways]) -> None:
        for atom, own in zip(atoms, ways, strict=True):
            if own and isinstance(atom, core.Var) and _is_inexact(atom):
                found[atom] = found.get(atom, _NOWHERE) | own

    add(jaxpr.outvars, results)
    for number, equation in reversed(list(enumerate(jaxpr.eqns))):
        for variable in equation.outvars:  # All equations that use it have been visited.
            if variable in found:
                found[variable] = _settled(found[variable], choices)
        made = [found.get(variable, _NOWHERE) for variable in equation.outvars]
        add(equation.invars, _of_operands(equation, made, (*path, number), choices))
    return {variable: _settled(ways, choices) for variable, ways in found.items()}


def _of_operands(equation: core.JaxprEqn, made: Sequence[_Ways], path: _Path, choices: _Choices) -> Sequence[_Ways]:
    onward, operands = _NOWHERE.union(*made), equation.invars
    if equation.primitive.name == "select_n":
        choices[path] = len(operands) - 1, onward
        return [_NOWHERE, *(frozenset([(path, case)]) if onward else _NOWHERE for case in range(len(operands) - 1))]
    inner = [getattr(one, "jaxpr", one) for one in core.jaxprs_in_params(equation.params)]
    is_call = len(inner) == 1 and len(inner[0].invars) == len(operands) and len(inner[0].outvars) == len(made)
    if is_call and equation.primitive.name != "scan":  # A `scan` takes its carried results as operands again.
        ways = _followed(inner[0], made, path, choices)
        return [ways.get(one, _NOWHERE) for one in inner[0].invars]
    return [onward] * len(operands)


def _settled(ways: _Ways, choices: _Choices) -> _Ways:
    """Replace all cases of a choice by the places that the choice reaches, for each choice with all its cases in `ways`."""
    while True:
        counts = Counter(case[0] for case in ways if case)
        path = next((one for one, count in counts.items() if count == choices[one][0]), None)
        if path is None:
            break
        ways = frozenset(case for case in ways if case is None or case[0] != path) | choices[path][1]
    return _TO_RESULTS if None in ways else ways


def _is_inexact(variable: core.Var) -> bool:
    dtype = getattr(variable.aval, "dtype", None)
    return dtype is not None and jnp.issubdtype(dtype, jnp.inexact)
