"""Find where a NaN or an infinity is born: an operation on finite numbers whose result is not finite (S11).

Nearly all operations on a NaN give a NaN, so the place where one is seen says little. The operation that made the first
NaN is the cause. An infinity that changes no result, such as the overflow inside of a sigmoid, is not reported.
`birth_records` computes the record of a birth.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.callers import CALLER
from jax_debug_widgets._jax.origins.frames import Frame
from jax_debug_widgets._jax.passes.birth_primitives import is_elementwise, may_be_birth
from jax_debug_widgets._jax.passes.birth_records import record_of
from jax_debug_widgets._jax.passes.check_arithmetic import not_numbers, odd, worst_of_all
from jax_debug_widgets._jax.passes.checked import BodyFacts, Check, Records
from jax_debug_widgets._jax.passes.words import number_of_words, recorded_type

IS_INFINITE, HAS_NAN = 1, 2
"""The kinds of non-finite arguments, see `nan_arguments`."""

RESULTS, ARGUMENTS = "results", "arguments"
"""The names of the records of a program's results and of its arguments; for the latter see `nan_arguments`."""

OF_FINITE = 1
"""The kind in a record, if the first element that is not finite was computed from finite operands."""


@dataclass(frozen=True)
class Birth:
    """The facts about an equation whose result may be the first that is not finite.

    Attributes:
      shape: the shape of its result.
      backward: whether it is a part of a backward pass.
      forward_too: whether its line is also in the forward pass.
      differentiated: whether its line is differentiated: then the equation may be a part of the derivative.
      unjitted: whether the derivative is un-jitted: its backward pass is a program of its own.
      beside: the primitives of the line's equations in the same body.
      kinds: the `recorded_type` of each number in the record: the result's and, if the equation is elementwise, those
        of up to two operands.
      lanes: which axes of the result are lanes of a `vmap`.
    """

    shape: tuple[int, ...]
    backward: bool
    forward_too: bool
    differentiated: bool
    unjitted: bool
    beside: AbstractSet[str]
    kinds: tuple[str, ...]
    lanes: tuple[int, ...]


class Births:
    """The `Checker` that finds births.

    A record is int32, six numbers or more: how many elements of the result are not finite; the kind of birth: 1 from finite
    operands, 2 a NaN from infinite ones, 0 none; the position of the first such element; the words (`words_of`) of the result
    and of up to two operands at that position.
    """

    def is_for(self, equation: Any) -> bool:
        """See `Checker`."""
        if name_of_solver(equation):
            return any(_is_real(one) and one.aval.size for one in equation.outvars)
        return (
            may_be_birth(equation.primitive.name)
            and len(equation.outvars) == 1
            and _is_real(equation.outvars[0])
            and equation.outvars[0].aval.size > 0
            and not equation.effects
            and not list(core.jaxprs_in_params(equation.params))
            and any(_is_real(one) and one.aval.size for one in equation.invars)  # The maximum of nothing is -inf.
            and not _is_harmless(equation)
        )

    def check(self, equation: Any, frames: tuple[Frame, ...], body: BodyFacts) -> Check | None:
        """See `Checker`."""
        solver = name_of_solver(equation)
        out = next(one for one in equation.outvars if _is_real(one) and one.aval.size)
        if out not in body.computed or frames[0] is CALLER:  # What becomes of it, such as a choice, is another program.
            return None
        inputs = [one for one in equation.invars if _is_real(one)]
        out = body.folded.get(out, out)
        shape = out.aval.shape
        shapes = [one.aval.shape for one in equation.invars]
        elementwise = len(inputs) <= 2 and is_elementwise(equation.primitive.name, shapes, shape)  # noqa: PLR2004
        beside = frozenset(body.beside[frames[0]])
        lanes = body.lanes(equation, frames, shape)
        facts = Birth(
            shape,
            body.part.is_backward,
            ("nonfinite", frames[0]) in body.forward,
            body.part.is_differentiated,
            body.part.is_unjitted,
            beside,
            tuple(recorded_type(one.aval.dtype) for one in (out, *(inputs if elementwise else ()))),
            lanes,
        )
        return Check(
            facts, [out, *inputs], partial(record_of, elementwise, _is_worth_numba(body)), solver, can_be_hoisted=False
        )

    def of_results(self, jaxpr: core.Jaxpr) -> Check | None:
        """See `Checker`: checks whether a result is not finite although no input is the reason."""
        inputs: Any
        results: Any
        inputs, results = jaxpr.invars, jaxpr.outvars
        read = [one for one in results if _is_real(one) and one.aval.size]
        given = [one for one in inputs if _is_real(one) and one.aval.size]
        if not read:
            return None

        def compute(*arrays: Any) -> Sequence[Any]:
            made, given = worst_of_all(arrays[: len(read)]), worst_of_all(arrays[len(read) :])
            is_new = lax.bitwise_and(odd(made), lax.is_finite(given))
            is_nan = lax.bitwise_and(not_numbers(made), lax.eq(given, given))
            return [lax.bitwise_or(is_new, is_nan)]

        return Check(None, [*read, *given], compute, RESULTS)

    def settled(self, records: Records) -> Records:
        """See `Checker`: keep the births, each with the number of other lines with such values in the call."""
        found = [one for one in records if one[0].primitive not in (RESULTS, ARGUMENTS)]
        loud = any(checked.primitive == RESULTS for checked, _ in records)
        given = [one for one in records if one[0].primitive == ARGUMENTS]
        births = [one for one in found if _born(one)]
        if not loud and not any(_is_nan(one) for one in births):
            return given
        roots = [one for number, one in enumerate(births) if number == 0 or _born(one) == OF_FINITE]
        if roots and _born(roots[0]) == OF_FINITE:  # In this case infinities among the arguments are not the reason.
            given = [one for one in given if one[1][-1] == HAS_NAN]
        lines, reported = (
            {(checked.frames[0].file, checked.frames[0].line) for checked, _ in records} for records in (found, roots)
        )
        return [*given, *((checked, (*numbers, len(lines - reported))) for checked, numbers in roots)]


def _is_worth_numba(body: BodyFacts) -> bool:
    """Whether Numba is loaded, or would save more than the half second that it takes to load."""
    return "numba" in sys.modules or sum(option == "nonfinite" for option, _ in body.forward) >= _MANY


_MANY = 5
"""The least number of source ranges for which Numba saves time: XLA takes some 40 ms to compile the check of an operation."""


def _is_harmless(equation: Any) -> bool:
    """Whether an operation keeps finite numbers finite, because of its types or a constant: `0.9 * x`, `x + 1e-8`."""
    name, inputs = equation.primitive.name, equation.invars
    limits = jnp.finfo(equation.outvars[0].aval.dtype)
    if name == "convert_element_type":
        return float(jnp.finfo(inputs[0].aval.dtype).max) <= float(limits.max)
    constants = [(at, abs(float(one.val))) for at, one in enumerate(inputs) if isinstance(one, core.Literal)]
    if len(inputs) != 2 or len(constants) != 1:  # noqa: PLR2004
        return False
    ((at, size),) = constants
    match name:
        case "mul":
            return 0 < size <= 1
        case "div":
            return at == 1 and 1 <= size < float("inf")
        case "add" | "sub":
            return size <= float(limits.max) * float(limits.eps) / 8
    return False


def name_of_solver(equation: Any) -> str:
    """Return the name of the solver that an equation calls, `cholesky` or `solve`; empty for other equations."""
    name = equation.primitive.name
    called = equation.params.get("name") if name in ("jit", "pjit") else None
    return _SOLVERS.get(called or name, "")


_SOLVERS = {"cholesky": "cholesky", "_cholesky": "cholesky", "custom_linear_solve": "solve"}
"""Primitive, or jitted function of JAX -> the name of its solver. A singular or non-positive matrix gives NaN."""


def _born(record: Any) -> int:
    checked, numbers = record
    return numbers[1 + checked.loops]


def _is_nan(record: Any) -> bool:
    checked, numbers = record
    return bool(np.isnan(number_of_words(checked.facts.kinds[0], numbers[3 + checked.loops :])))


def _is_real(atom: Any) -> bool:
    dtype = getattr(atom.aval, "dtype", None)
    return dtype is not None and jnp.issubdtype(dtype, jnp.floating)
