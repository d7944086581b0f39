"""Find the numbers that a program draws once and returns, also where it draws them inside a `vmap`.

A library makes the parameters of a layer where the layer is called. If that is in a `vmap`, all lanes share the parameters on
purpose, and the program returns them once: `jax.jit(hk.transform(...).init)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import compress
from typing import Any

from jax.extend.core import Jaxpr, Literal

from jax_debug_widgets._jax.compat.private import core

_ELEMENTWISE = """abs add and bitcast_convert_type clamp convert_element_type copy div erf erf_inv exp log log1p max min mul
    neg not or pow reshape select_n shift_left shift_right_logical sqrt square sub tanh xor"""
_PASSED_ON = frozenset(_ELEMENTWISE.split())
"""The operations that pass drawn numbers on to a result of the same size."""


def returned(jaxpr: Jaxpr, results: Iterable[Any]) -> set[Any]:
    """Return the variables of a body that become one of its results, element by element, with the same size.

    A `vmap` adds an axis to what each lane makes of such a variable, so its size is another one.
    """
    found = {atom for atom in results if not isinstance(atom, Literal)}
    for equation in reversed(jaxpr.eqns):
        if not found.isdisjoint(equation.outvars):
            found |= {one for one in _made_of(equation, found) if not isinstance(one, Literal)}
    return found


def _made_of(equation: Any, found: set[Any]) -> Iterable[Any]:
    """Return the operands that an equation passes on to those of its results that were found."""
    if equation.primitive.name in _PASSED_ON:
        return [one for one in equation.invars if one.aval.size == equation.outvars[0].aval.size]
    inner = inner_bodies(equation)
    if len(inner) != 1 or len(inner[0].invars) != len(equation.invars):
        return []
    inside = returned(inner[0], compress(inner[0].outvars, [one in found for one in equation.outvars]))
    return compress(equation.invars, [one in inside for one in inner[0].invars])


def inner_bodies(equation: Any) -> list[Jaxpr]:
    """Return the bodies that an equation runs."""
    return [getattr(one, "jaxpr", one) for one in core.jaxprs_in_params(equation.params)]


def primitives(jaxpr: Jaxpr) -> Iterator[str]:
    """Yield the names of all primitives of a program."""
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for inner in inner_bodies(equation):
            yield from primitives(inner)
