"""Run equations of a program in float64, whatever float dtypes they were traced for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.passes.inventory import programs_in
from jax_debug_widgets._jax.studies.programs import as_typed, opened
from jax_debug_widgets._jax.studies.repeats import solving_of
from jax_debug_widgets.graphs.program import CALLS

ENTERED = CALLS | {"checkpoint", "remat2"}
"""Primitives that run one program, once, with their operands: what they compute is that of their equations."""

_LOOPS = frozenset({"scan", "while", "cond"})

TAKES_BITS = frozenset({"bitcast_convert_type"})
"""Primitives that see the bits of a float."""


_ARRAYS = (jax.Array, np.ndarray, np.generic)
"""What has a dtype and is no `Ref`, which the program writes to."""


class NotFollowedError(Exception):
    """An equation cannot be run in float64."""


def widened(value: Any) -> Any:
    """An array of floats in float64, one of complex numbers in complex128; any other, and a `Ref`, as it is."""
    dtype = getattr(value, "dtype", None)
    if not isinstance(value, _ARRAYS) or not _wide_dtype(dtype):
        return value
    return jnp.asarray(value, _wide_dtype(dtype))


def bind_wide(equation: core.JaxprEqn, inputs: Sequence[Any]) -> list[Any]:
    """Run an equation on float64 operands; `jax.enable_x64` must be on.

    Raises:
      Exception: the equation does not support float64; `NotFollowedError`: only the original program may run it.
    """
    name = equation.primitive.name
    if equation.effects or name in TAKES_BITS or draws(equation):
        raise NotFollowedError(name)
    if name == "reduce_precision":
        return list(inputs)
    if name == "custom_linear_solve":
        _, program, operands = solving_of(equation, inputs)
        return run_wide(*opened(program), operands)
    inner = only_program(equation, len(inputs)) if name in ENTERED else None
    if inner is not None:
        return run_wide(*inner, inputs)
    operands = [jnp.asarray(one) for one in inputs]
    params = _wide_params(equation, operands)
    found = equation.primitive.bind(*operands, **params)
    return list(found) if equation.primitive.multiple_results else [found]


def draws(equation: core.JaxprEqn) -> bool:
    """Whether an equation draws random numbers of a PRNG key: in float64 they are other ones."""
    return any(jax.dtypes.issubdtype(getattr(one.aval, "dtype", None), jax.dtypes.prng_key) for one in equation.invars)


def only_program(equation: core.JaxprEqn, count: int) -> tuple[core.Jaxpr, Sequence[Any]] | None:
    """The program that an equation runs with its operands, and its constants; None where it is not only that."""
    found = list(programs_in(equation))
    if len(found) != 1 or len(found[0][1].invars) != count:
        return None
    return opened(equation.params[found[0][0]])


def run_wide(jaxpr: core.Jaxpr, consts: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """The results of a program of wide operands; it decides for itself which way branches and loops go."""
    known = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*map(widened, consts), *inputs), strict=True))

    def read(atom: Any) -> Any:
        return widened(as_typed(atom)) if isinstance(atom, core.Literal) else known[atom]

    for equation in jaxpr.eqns:
        known.update(zip(equation.outvars, bind_wide(equation, [read(one) for one in equation.invars]), strict=True))
    return [read(one) for one in jaxpr.outvars]


def _wide_params(equation: core.JaxprEqn, operands: Sequence[Any]) -> dict[str, Any]:
    """The parameters of an equation, with dtypes and programs in float64."""
    name = equation.primitive.name
    found: dict[str, Any] = {}
    for key, value in equation.params.items():
        if isinstance(value, ClosedJaxpr | core.Jaxpr):
            found[key] = _wide_program(value)
        elif isinstance(value, tuple) and value and all(isinstance(one, ClosedJaxpr | core.Jaxpr) for one in value):
            if name not in _LOOPS:
                raise NotFollowedError(name)
            found[key] = tuple(map(_wide_program, value))
        else:
            found[key] = _wide_param(value)
    if "preferred_element_type" in found:
        found |= _plain_precision(found, operands)
    return found


def _plain_precision(params: Mapping[str, Any], operands: Sequence[Any]) -> dict[str, Any]:
    """A product of matrices in float64 has no other precision, and gives what its operands are."""
    dtype = jnp.result_type(*operands)
    is_float = params["preferred_element_type"] is not None and jnp.issubdtype(dtype, np.inexact)
    return {"precision": None, **({"preferred_element_type": np.dtype(dtype)} if is_float else {})}


def _wide_param(value: Any) -> Any:
    is_dtype = isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic))
    return _wide_dtype(value) or value if is_dtype else value


def _wide_program(program: Any) -> Any:
    """Trace a program again for float64 operands; an open `Jaxpr`, without constants, must need none then."""
    jaxpr, consts = opened(program)
    wide = jax.make_jaxpr(lambda *inputs: run_wide(jaxpr, consts, inputs))(*map(_wide_type, jaxpr.invars))
    own, more = opened(wide)
    if isinstance(program, ClosedJaxpr) or not more:
        return wide if isinstance(program, ClosedJaxpr) else own
    raise NotFollowedError("a program with constants")


def _wide_type(variable: Any) -> jax.ShapeDtypeStruct:
    aval = variable.aval
    return jax.ShapeDtypeStruct(aval.shape, _wide_dtype(aval.dtype) or aval.dtype)


def _wide_dtype(dtype: Any) -> Any:
    if jax.dtypes.issubdtype(dtype, np.complexfloating):
        return np.dtype(np.complex128)
    return np.dtype(np.float64) if jax.dtypes.issubdtype(dtype, np.floating) else None
