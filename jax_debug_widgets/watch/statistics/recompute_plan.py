"""Plan which watched values are recomputed, element by element, from others instead of being read.

XLA computes such values inside its kernels and never writes them. Reading one makes XLA write it with a further kernel:
that breaks the program's fusions, and is most of the cost of watching, at run time and at compile time. It also changes last
bits: a product that is written is rounded before XLA adds something to it. So the operands of these values are read instead.
`native` recomputes the values, some hundred elements at a time, and computes their statistics while they are in the processor's
first cache. The program's own kernels stay as they are.

Each operation is rounded separately, as in the un-jitted program. XLA rounds the same way, except where it contracts a
product and a sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from jax_debug_widgets._jax.passes.written_values import READ, SAME_ELEMENTS, folded_transposes
from jax_debug_widgets.watch.statistics.chain import EQUATIONS, Chain, ChainOperand, Step, written

_WRITTEN = frozenset({
    "argmax", "argmin", "conv_general_dilated", "cumlogsumexp", "cummax", "cumprod", "cumsum", "dot_general", "fft", "gather",
    "reduce_max", "reduce_min", "reduce_prod", "reduce_sum", "scan", "scatter", "scatter-add", "sort", "while",
})  # fmt: skip
"""The primitives whose results XLA writes to memory anyway: it fuses no other operations into their kernels."""

_APART = frozenset({
    "cbrt", "convert_element_type", "cos", "cosh", "erf", "erf_inv", "erfc", "exp", "exp2", "expm1", "log", "log1p",
    "logistic", "pow", "select_n", "sin", "sinh", "tan", "tanh",
})  # fmt: skip
"""The primitives whose results XLA contracts with no product or sum (`a * b + c` rounded once). Writing them keeps all bits."""

_POWERS = range(2, 9)
"""The powers that are expanded into multiplications."""


def chains_of(jaxpr: Any, wanted: Sequence[Any]) -> list[Chain]:
    """Return chains that compute the statistics of some of the variables `wanted`; the others have to be read.

    Values that are computed from each other are in one chain, which runs when all its sources are computed.
    """
    wanted = list(dict.fromkeys(wanted))
    made = _made(jaxpr, set(wanted))
    needed: set[Any] = set()
    left = [variable for variable in wanted if variable in made]
    while left:
        variable = left.pop()
        if variable not in needed:
            needed.add(variable)
            left += [one.origin for one in made[variable].operands if one.is_variable and one.origin in made]
    together: dict[Any, list[Any]] = {}
    for variable, step in made.items():
        if variable in needed:
            _join(variable, step, together)
    order = {variable: number for number, variable in enumerate(made)}
    taken: set[Any] = set()
    chains = []
    for group in {id(group): group for group in together.values()}.values():
        steps = [made[one] for one in sorted(group, key=order.__getitem__)]
        ends = {one.origin for step in steps for one in step.operands if one.is_array and not one.repeated}
        ends -= together.keys()
        made_again = {one for one in wanted if together.get(one) is group}
        if len(ends.difference(wanted)) > 2 * len(made_again):
            continue  # Reading all operands costs more than to make XLA write the wanted values.
        taken_in = made_again | (ends - taken)
        # Keep the order of `wanted`: if there is only one chain its result is the table, see `stacked`.
        watched = [one for one in wanted if one in taken_in]
        taken.update(watched)
        chains.append(written(steps, watched))
    return chains


def _made(jaxpr: Any, wanted: set[Any]) -> dict[Any, Step]:
    """Return the variables that can be computed from others that are in memory or are read anyway, each with its step.

    Variables that are in memory themselves are left out.
    """
    folded = folded_transposes(jaxpr)
    in_memory = _in_memory(jaxpr, folded)
    made: dict[Any, Step] = {}
    shown: dict[Any, ChainOperand] = {}
    apart = {equation.outvars[0] for equation in jaxpr.eqns if equation.primitive.name in _APART}
    for equation in jaxpr.eqns:
        _show(equation, shown, folded)
        if not _can_do(equation) or equation.outvars[0] in in_memory:
            continue
        operands = [replace(_shown(one, shown), repeated=_repeats(one, equation)) for one in equation.invars]
        arrays = [one for one in operands if one.is_array]
        known = (
            one.origin in in_memory or one.origin in wanted or one.origin in made or one.origin in apart
            for one in arrays
        )
        # If all operands have the same other order, the result has it too; but nothing can be broadcast to it.
        orders = [*dict.fromkeys(one.order for one in arrays)]
        if all(known) and len(orders) <= 1 and not (any(orders) and any(one.repeated for one in arrays)):
            result = equation.outvars[0]
            made[result] = Step(equation, operands)
            shown[result] = ChainOperand(result, orders[0] if orders else ())
    return made


def _in_memory(jaxpr: Any, folded: Mapping[Any, Any]) -> set[Any]:
    """Return the variables that XLA writes even if they are not read for statistics."""
    shown: dict[Any, ChainOperand] = {}

    def origins(atoms: Iterable[Any]) -> set[Any]:
        return {one.origin for one in (_shown(atom, shown) for atom in atoms) if one.is_variable}

    written = {*jaxpr.invars, *jaxpr.constvars, *folded.values()}
    for equation in jaxpr.eqns:
        _show(equation, shown, folded)
        name = equation.primitive.name
        written.update(equation.outvars if name in _WRITTEN else (), origins(equation.invars) if name in READ else ())
        if _can_do(equation):  # A broadcast operand is small, so writing it costs little.
            written |= origins(one for one in equation.invars if _repeats(one, equation))
    return written | origins(jaxpr.outvars)


def _show(equation: Any, shown: dict[Any, ChainOperand], folded: Mapping[Any, Any]) -> None:
    """Note that the result of an equation has the elements of another variable, if the equation only rearranges them."""
    if shows_all(equation) and equation.outvars[0] not in folded.values():
        operand = _shown(equation.invars[0], shown)
        if equation.primitive.name == "transpose":
            turned = equation.params["permutation"], equation.invars[0].aval.shape
            operand = replace(operand, order=(*operand.order, turned))
        shown[equation.outvars[0]] = operand


def _shown(atom: Any, shown: Mapping[Any, ChainOperand]) -> ChainOperand:
    own = ChainOperand(atom)
    return shown.get(atom, own) if own.is_variable else own


def shows_all(equation: Any) -> bool:
    """Whether the result has all elements of the operand, once each."""
    name = equation.primitive.name
    if name != "broadcast_in_dim":
        return name in SAME_ELEMENTS
    return equation.invars[0].aval.size == equation.outvars[0].aval.size


def _can_do(equation: Any) -> bool:
    name, results = equation.primitive.name, equation.outvars
    if name not in EQUATIONS:
        return False
    is_array = results[0].aval.size > 1 and all(map(_is_float, (*equation.invars, *results)))
    is_power = equation.params.get("y", 2) in _POWERS
    return (
        is_array
        and is_power
        and not shows_all(equation)
        and all(_repeats(one, equation) >= 0 for one in equation.invars)
    )


def _is_float(atom: Any) -> bool:
    return getattr(atom.aval, "dtype", None) == np.float32


def _repeats(operand: Any, equation: Any) -> int:
    """Return how often `spread` repeats each element of an operand that is broadcast to the result.

    Return 0 if it is not broadcast, -1 if it is broadcast in a way that `spread` cannot do.
    """
    shape, size = equation.outvars[0].aval.shape, operand.aval.size
    if size in (1, math.prod(shape)):
        return 0
    axes = equation.params.get("broadcast_dimensions", range(len(shape)))
    along = dict(zip(axes, operand.aval.shape, strict=True))
    carried = [axis for axis, length in enumerate(shape) if along.get(axis) == length != 1]
    if not carried or any(shape[axis] != 1 for axis in range(carried[0], carried[-1]) if axis not in carried):
        return -1
    return math.prod(shape[carried[-1] + 1 :])


def _join(variable: Any, step: Step, together: dict[Any, list[Any]]) -> None:
    """Add a variable to the group of the variables that it is computed from, and merge their groups."""
    made_of = (together.get(one.origin) for one in step.operands if one.is_variable and not one.repeated)
    groups = {id(group): group for group in made_of if group is not None}
    largest = max(groups.values(), key=len, default=[])
    for group in groups.values():
        if group is not largest:
            largest += group
            together.update(dict.fromkeys(group, largest))
    largest.append(variable)
    together[variable] = largest
