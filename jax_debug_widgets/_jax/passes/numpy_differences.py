"""Find results that differ from NumPy's without an error (S15)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.frames import Frame
from jax_debug_widgets._jax.passes.check_arithmetic import count_and_first
from jax_debug_widgets._jax.passes.checked import BodyFacts, Check, Records
from jax_debug_widgets._jax.passes.watch_pass import is_jaxs

DIVISION = "integer division"
"""The name of a division of integers in records. A remainder is 0, as in NumPy."""


class NumpyDifferences:
    """See `Checker`: `jnp.nanargmin` of NaNs alone, where NumPy raises, and integers divided by 0, where it warns.

    The record has the number of such slices or divisors, and the first of them. The facts of a division are its shape.
    """

    def is_for(self, equation: Any) -> bool:
        """See `Checker`."""
        name = equation.primitive.name
        if name == "div":
            (out,) = equation.outvars
            return bool(jnp.issubdtype(out.aval.dtype, jnp.integer)) and out.aval.size > 0 and not _is_nonzero(equation)
        return name in ("jit", "pjit") and equation.params.get("name") in _NAN_ARGUMENTS

    def check(self, equation: Any, frames: tuple[Frame, ...], body: BodyFacts) -> Check | None:
        """See `Checker`."""
        (out,) = equation.outvars[:1]
        if out not in body.certain or not out.aval.size:
            return None
        del frames
        if equation.primitive.name == "div":
            return Check(out.aval.shape, [equation.invars[1]], _zeros, DIVISION, taken=_ones_elsewhere)
        return _of_result(out, equation.params["name"])

    def of_results(self, jaxpr: core.Jaxpr) -> Check | None:
        """See `Checker`: the program is such a function itself, which un-jitted code calls."""
        name = (jaxpr.debug_info.func_src_info or "").partition(" ")[0]
        out: Any = next(iter(jaxpr.outvars), None)
        return _of_result(out, name) if name in _NAN_ARGUMENTS and is_jaxs(jaxpr) and out.aval.size else None

    def settled(self, records: Records) -> Records:
        """See `Checker`: all records are reported."""
        return records


def _is_nonzero(equation: Any) -> bool:
    divisor = equation.invars[1]
    return isinstance(divisor, core.Literal) and bool(np.all(divisor.val))


def _zeros(divisors: Any) -> Sequence[Any]:
    return count_and_first(lax.eq(divisors, lax.full_like(divisors, 0)))


def _ones_elsewhere(taken: Any, divisors: Any) -> Sequence[Any]:
    return [lax.select(taken, divisors, lax.full_like(divisors, 1))]


_NAN_ARGUMENTS = frozenset({"nanargmin", "nanargmax", "_nanargmin", "_nanargmax"})


def _of_result(out: Any, name: str) -> Check:
    return Check(None, [out], lambda array: count_and_first(lax.eq(array, lax.full_like(array, -1))), name.lstrip("_"))
