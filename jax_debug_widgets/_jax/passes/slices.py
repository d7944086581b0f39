"""Plan how to recompute some variables of a body from others that are in memory anyway."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jax.extend import core as jax_core
from jax.extend.core import ClosedJaxpr

from jax_debug_widgets._jax.compat.private import core

_CHEAP = frozenset({
    "abs", "add", "add_any", "and", "broadcast_in_dim", "ceil", "clamp", "convert_element_type", "copy", "copy_p", "cos", "div",
    "eq", "erf", "exp", "exp2", "expand_dims", "expm1", "floor", "ge", "gt", "integer_pow", "is_finite", "le", "log", "log1p",
    "logistic", "lt", "max", "min", "mul", "named", "ne", "neg", "not", "or", "pow", "reshape", "rev", "round", "rsqrt",
    "select_n", "sign", "sin", "sqrt", "square", "squeeze", "stop_gradient", "sub", "tanh", "transpose", "xor",
})  # fmt: skip
"""The primitives that XLA computes inside kernels, element by element: their results may never be in memory."""


@dataclass(frozen=True)
class Slice:
    """A way to recompute some wanted variables of a body.

    Attributes:
      variables: the variables that are read.
      compute: takes their arrays; returns the arrays of the wanted variables.
    """

    variables: Sequence[Any]
    compute: Callable[..., Sequence[Any]]


def slice_of(jaxpr: core.Jaxpr, wanted: Sequence[Any], turned: Mapping[Any, Any]) -> Slice:
    """Find the variables to read for the `wanted` ones: those computed element by element are recomputed from others.

    Args:
      jaxpr: the body.
      wanted: the wanted variables.
      turned: maps a matrix to its transpose, if XLA writes the transpose.
    """
    makers = {one.outvars[0]: one for one in jaxpr.eqns if one.primitive.name in _CHEAP and len(one.outvars) == 1}
    for matrix, transpose in turned.items():
        equation = makers.pop(transpose)
        makers[matrix] = equation.replace(invars=[transpose], outvars=[matrix])
    needed: set[Any] = set()
    read: dict[Any, None] = {}
    left = list(wanted)
    while left:
        variable = left.pop()
        if variable not in makers:
            read[variable] = None
        elif variable not in needed:
            needed.add(variable)
            left += [atom for atom in makers[variable].invars if isinstance(atom, core.Var)]
    variables = list(read)
    in_order = {variable: number for number, one in enumerate(jaxpr.eqns) for variable in one.outvars}
    own = jaxpr.replace(
        constvars=[],
        invars=variables,
        outvars=list(wanted),
        eqns=[makers[variable] for variable in sorted(needed, key=in_order.__getitem__)],
        effects=core.no_effects,
        debug_info=jaxpr.debug_info.with_unknown_names(),
    )
    return Slice(variables, jax_core.jaxpr_as_fun(ClosedJaxpr(own, [])))
