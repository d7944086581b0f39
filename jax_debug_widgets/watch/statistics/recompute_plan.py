"""Plan which watched values are computed again, element by element, from others instead of being read.

XLA computes such values inside its kernels and never writes them. To read one would make XLA write it, by a kernel of its
own: that breaks the program's fusions, is most of what watching costs, to run and to compile, and changes last bits: a product
that is written is rounded before it is added to something. So the arrays that they are made of are read, and `native` makes them
again, some hundred elements at a time, and takes their statistics while they are in the processor's first cache. The program's
own kernels stay as they are.

Each operation is rounded as if it stood alone: as in the un-jitted program, and in XLA's, except where that contracts a
product and a sum.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from jax_debug_widgets.watch.statistics.chain import EQUATIONS, Chain, ChainOperand, Step, written

_SAME_ELEMENTS = frozenset(
    {"reshape", "squeeze", "expand_dims", "copy", "copy_p", "named", "stop_gradient", "transpose"}
)
"""The primitives that only show the same elements in another way; all but `transpose` in the same order."""

_WRITTEN = frozenset({
    "argmax", "argmin", "conv_general_dilated", "cumlogsumexp", "cummax", "cumprod", "cumsum", "dot_general", "fft", "gather",
    "reduce_max", "reduce_min", "reduce_prod", "reduce_sum", "scan", "scatter", "scatter-add", "sort", "while",
})  # fmt: skip
"""The primitives that XLA computes in kernels that no others are fused into: their results are in memory anyway."""

_READ = frozenset({"conv_general_dilated", "dot_general", "fft", "scan", "sort", "while"})
"""And whose operands are."""

_APART = frozenset(
    "cbrt convert_element_type cos cosh erf erf_inv erfc exp exp2 expm1 log log1p logistic pow select_n sin sinh tan tanh".split()
)
"""The primitives whose results XLA contracts with no product or sum (`a * b + c` rounded once). To write them changes no bit."""

_POWERS = range(2, 9)
"""The powers that are worth multiplying out."""


def chains_of(jaxpr: Any, wanted: Sequence[Any]) -> list[Chain]:
    """Chains that take the statistics of some of the variables `wanted`; the others have to be read as they are.

    Values that are made of each other are in one chain, which runs when all that it begins with is there.
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
            continue  # To read all of them costs more than to make XLA write what is wanted.
        taken_in = made_again | (ends - taken)
        # As they are wanted: what one chain makes is the table then, see `stacked`.
        watched = [one for one in wanted if one in taken_in]
        taken.update(watched)
        chains.append(written(steps, watched))
    return chains


def _made(jaxpr: Any, wanted: set[Any]) -> dict[Any, Step]:
    """The variables that can be computed from others that are in memory or read anyway.

    Without those that are in memory themselves: they need not be made again.
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
        # In another order than it shows, if all its operands are: but nothing is broadcast to that.
        orders = [*dict.fromkeys(one.order for one in arrays)]
        if all(known) and len(orders) <= 1 and not (any(orders) and any(one.repeated for one in arrays)):
            result = equation.outvars[0]
            made[result] = Step(equation, operands)
            shown[result] = ChainOperand(result, orders[0] if orders else ())
    return made


def folded_transposes(jaxpr: Any) -> dict[Any, Any]:
    """Matrix product -> its transpose, where nothing else uses it: XLA multiplies the other way round and writes that.

    JAX has the gradient of each weight so. Who reads the product itself makes XLA write both, and transpose by a kernel.
    """
    uses = Counter(id(atom) for equation in jaxpr.eqns for atom in equation.invars)
    uses.update(id(atom) for atom in jaxpr.outvars)
    products = {one.outvars[0] for one in jaxpr.eqns if one.primitive.name == "dot_general"}
    return {
        equation.invars[0]: equation.outvars[0]
        for equation in jaxpr.eqns
        if equation.primitive.name == "transpose" and equation.params["permutation"] == (1, 0)
        if equation.invars[0] in products and uses[id(equation.invars[0])] == 1
    }


def _in_memory(jaxpr: Any, folded: Mapping[Any, Any]) -> set[Any]:
    """The variables that XLA writes, whoever reads them."""
    shown: dict[Any, ChainOperand] = {}

    def origins(atoms: Iterable[Any]) -> set[Any]:
        return {one.origin for one in (_shown(atom, shown) for atom in atoms) if one.is_variable}

    written = {*jaxpr.invars, *jaxpr.constvars, *folded.values()}
    for equation in jaxpr.eqns:
        _show(equation, shown, folded)
        name = equation.primitive.name
        written.update(equation.outvars if name in _WRITTEN else (), origins(equation.invars) if name in _READ else ())
        if _can_do(equation):  # What is broadcast is small: to write it costs little.
            written |= origins(one for one in equation.invars if _repeats(one, equation))
    return written | origins(jaxpr.outvars)


def _show(equation: Any, shown: dict[Any, ChainOperand], folded: Mapping[Any, Any]) -> None:
    """Note what the result of an equation shows of another variable, if it does no more."""
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
        return name in _SAME_ELEMENTS
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
    """How often each element of an operand is repeated where it is broadcast to the result, as `spread` does it.

    0 if it is not, -1 if it is in another way.
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
    """Put a variable into the group of those that it is made of, which becomes one."""
    made_of = (together.get(one.origin) for one in step.operands if one.is_variable and not one.repeated)
    groups = {id(group): group for group in made_of if group is not None}
    largest = max(groups.values(), key=len, default=[])
    for group in groups.values():
        if group is not largest:
            largest += group
            together.update(dict.fromkeys(group, largest))
    largest.append(variable)
    together[variable] = largest
