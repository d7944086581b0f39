"""Run checks of a `scan` before the loop, for all iterations at once, if they read only its inputs `xs` (indices).

A loop that does little else than index an array would take twice as long with a record that it carries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.passes.check_records import Record, computed_numbers, unnamed
from jax_debug_widgets._jax.passes.checked import Check

_CHEAP = frozenset(
    {
        "add",
        "and",
        "broadcast_in_dim",
        "clamp",
        "concatenate",
        "convert_element_type",
        "copy",
        "eq",
        "ge",
        "gt",
        "iota",
        "le",
        "lt",
        "max",
        "min",
        "mul",
        "ne",
        "neg",
        "not",
        "or",
        "reduce_max",
        "reduce_min",
        "reduce_or",
        "reduce_sum",
        "rem",
        "reshape",
        "select_n",
        "slice",
        "squeeze",
        "sub",
    }
)
"""Primitives that may be computed a second time, before the loop."""

_MOST = 1 << 20
"""The most elements, over all iterations, that are computed at once, unless the loop's own operands have more."""


def before_loop(
    scan: core.JaxprEqn, inner: core.Jaxpr, records: Sequence[Record], checks: Mapping[Any, Check], number: int
) -> tuple[list[core.JaxprEqn], list[Record], core.Jaxpr, list[Record]]:
    """Return the equations of checks before a `scan`, their records, the body without these checks, and its records.

    Args:
      checks: row -> its check, for the rows that are computed in the body itself.
      number: the number of the loop.
    """
    read, carried = versions.scan_counts(scan.params)
    operands = dict(zip(inner.invars, scan.invars, strict=True))
    each = inner.invars[read + carried :]
    equations: list[core.JaxprEqn] = []
    outer: list[Record] = []
    left: list[Record] = []
    for checked, row in records:
        check = checks.get(row)
        is_possible = check is not None and check.can_be_hoisted and scan.params["length"] > 0
        steps = _computing(inner, check.operands, {*inner.invars[:read], *each}) if check and is_possible else None
        read_by = [*(check.operands if check else ()), *(one for step in steps or () for one in step.invars)]
        used = [one for one in inner.invars if any(one is other for other in read_by)]
        given = [one for one in used if one in each]
        if check is None or steps is None or not given or _is_too_much(scan, steps, given):
            left.append((checked, row))
            continue
        numbers = _numbers_of(
            inner.replace(invars=used, eqns=steps, outvars=check.operands, debug_info=unnamed(inner)), check
        )
        axes = [0 if one in each else None for one in used]
        compute = partial(_first_row, jax.vmap(numbers, axes), reverse=scan.params["reverse"])
        also, (now,) = computed_numbers(compute, [operands[one] for one in used])
        equations += also
        outer.append((replace(checked, around=(number,)), now))
    return equations, outer, _without(inner, left) if outer else inner, left


def _computing(inner: core.Jaxpr, operands: Sequence[Any], inputs: set[Any]) -> list[core.JaxprEqn] | None:
    """Return the equations that compute these variables from inputs of a loop.

    Return None if they need other variables or costly equations.
    """
    wanted, steps = {one for one in operands if isinstance(one, core.Var)}, list[core.JaxprEqn]()
    for equation in reversed(inner.eqns):
        if not wanted.isdisjoint(equation.outvars):
            if equation.primitive.name not in _CHEAP:
                return None
            wanted.difference_update(equation.outvars)
            wanted.update(one for one in equation.invars if isinstance(one, core.Var))
            steps.append(equation)
    return steps[::-1] if wanted <= inputs else None


def _is_too_much(scan: core.JaxprEqn, steps: Sequence[core.JaxprEqn], given: Sequence[Any]) -> bool:
    """Whether the values of all iterations take much more memory than the loop's operands for all iterations."""
    computed = max((_size(one) for step in steps for one in step.outvars), default=0)
    return computed * scan.params["length"] > max(_MOST, 2 * scan.params["length"] * max(map(_size, given)))


def _size(var: Any) -> int:
    """Return the number of elements of a variable."""
    return var.aval.size


def _numbers_of(program: core.Jaxpr, check: Check) -> Callable[..., Sequence[Any]]:
    """Return the function that computes the numbers of a check as int32; a program computes the check's operands."""

    def numbers(*arrays: Any) -> Sequence[Any]:
        found = check.compute(*jaxpr_as_fun(ClosedJaxpr(program, []))(*arrays))
        return [lax.convert_element_type(one, np.int32) for one in found]

    return numbers


def _without(inner: core.Jaxpr, left: Sequence[Record]) -> core.Jaxpr:
    """Return the body without the equations of checks whose rows are not read. These equations are ours and have no lines."""
    wanted, kept = {*inner.outvars, *(row for _, row in left)}, list[core.JaxprEqn]()
    for equation in reversed(inner.eqns):
        if equation.source_info.traceback is not None or not wanted.isdisjoint(equation.outvars):
            kept.append(equation)
            wanted.update(one for one in equation.invars if isinstance(one, core.Var))
    return inner.replace(eqns=kept[::-1])


def _first_row(numbers_of: Callable[..., Sequence[Any]], *arrays: Any, reverse: bool) -> Sequence[Any]:
    """Return the row of the first iteration with a fault: the count over all iterations, and at the end the iteration."""
    found, *others = numbers_of(*arrays)
    count = found.size
    places, worst = lax.iota(np.int32, count), np.int32(0 if reverse else count - 1)
    places = lax.select(lax.gt(found, lax.full_like(found, 0)), places, lax.full_like(places, worst))
    earlier = lax.max if reverse else lax.min

    def both(one: Any, other: Any) -> Any:  # In one pass: XLA makes trees of two.
        return lax.add(one[0], other[0]), earlier(one[1], other[1])

    limited = lax.min(found, lax.full_like(found, (1 << 30) // count))
    total, first = lax.reduce((limited, places), (np.int32(0), worst), both, (0,))
    taken = [lax.dynamic_slice_p.bind(one, first, slice_sizes=(1,)) for one in others]
    return [lax.concatenate([lax.reshape(total, (1,)), *taken, lax.reshape(first, (1,))], 0)]
