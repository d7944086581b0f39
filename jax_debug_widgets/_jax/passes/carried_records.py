"""Carry the records of checks through a loop: as rows, or each number separately.

XLA compiles a row as fast as one number, and runs it in one kernel. A loop of single numbers, which XLA compiles to few
kernels, takes twice as long with a row, and a third longer with the row's numbers carried separately.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import jax
import numpy as np

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.passes.check_records import Record, computed_numbers, empty_of, in_place, unnamed
from jax_debug_widgets._jax.passes.operands import new_number, with_inputs
from jax_debug_widgets._jax.passes.record_rows import merged, merged_numbers, row_of

_FEW = 4
"""The most records of a loop whose numbers are carried separately."""


@dataclass(frozen=True)
class Carried:
    """The equations and variables by which a loop carries a record.

    Attributes:
      first: the equations before the loop.
      begin: the operands of the loop.
      before: the inputs of an iteration.
      also: the equations in the loop's body.
      after: the results of an iteration.
      given: the results of the loop.
      behind: the equations after the loop.
      row: the variable of the row, after the loop.
    """

    first: Sequence[core.JaxprEqn]
    begin: Sequence[Any]
    before: Sequence[Any]
    also: Sequence[core.JaxprEqn]
    after: Sequence[Any]
    given: Sequence[Any]
    behind: Sequence[core.JaxprEqn]
    row: Any


def is_carried_apart(body: core.Jaxpr, records: Sequence[Record]) -> bool:
    """Whether the numbers of a loop's records are carried separately: on a CPU, if its body computes single numbers only."""
    return (
        len(records) <= _FEW
        and jax.default_backend() == "cpu"
        and all(_is_local(row) for _, row in records)
        and all(math.prod(getattr(one.aval, "shape", ())) == 1 for equation in body.eqns for one in equation.outvars)
    )


def _is_local(row: Any) -> bool:
    return row.aval.sharding.mesh.empty


def carrying(records: Sequence[Record], step: Any, *, apart: bool) -> list[Carried]:
    """Return what a loop carries for each of its records.

    Args:
      step: the variable of the loop's body that holds the iteration.
      apart: whether their numbers are carried separately.
    """
    carry: Callable[[Any, Any], Carried] = _numbers if apart else _row
    return [carry(row, step) for _, row in records]


def loop_carrying(equation: core.JaxprEqn, key: str, body: core.Jaxpr, carries: Sequence[Carried]) -> core.JaxprEqn:
    """Make a loop carry records, after what it carries itself.

    Args:
      equation: the `scan` or `while`.
      key: its parameter that holds the body.
      body: the body with the equations that compute the records.
      carries: what is carried for each record.
    """
    is_scan, params = equation.primitive.name == "scan", dict(equation.params)
    read, carried = versions.scan_counts(params) if is_scan else (len(equation.invars), len(equation.outvars))
    place = read + carried if is_scan else len(body.invars)
    begin, before, after, given = (
        list(chain.from_iterable(part))
        for part in zip(*((one.begin, one.before, one.after, one.given) for one in carries), strict=True)
    )
    results = [*body.outvars[:carried], *after, *body.outvars[carried:]]
    body = with_inputs(body.replace(outvars=results, debug_info=unnamed(body)), place, before)
    if is_scan:
        params = versions.more_of_scan(params, place, carried=len(before))
    else:
        condition = params["cond_jaxpr"]
        unread = [core.Var(one.aval) for one in before]
        params["cond_jaxpr"] = with_inputs(condition, len(condition.jaxpr.invars), unread)
    params[key] = in_place(equation.params[key], body)
    at = place if is_scan else len(equation.invars)
    operands = [*equation.invars[:at], *begin, *equation.invars[at:]]
    given = [*equation.outvars[:carried], *given, *equation.outvars[carried:]]
    return equation.replace(params=params, invars=operands, outvars=given)


def _row(row: Any, step: Any) -> Carried:
    first, empty = empty_of(row.aval.size + 1)
    old = core.Var(empty.aval)
    also, (now,) = computed_numbers(lambda *rows: [merged(*rows)], [old, step, row])
    given = core.Var(now.aval)
    return Carried(first, [empty], [old], also, [now], [given], [], given)


def _numbers(row: Any, step: Any) -> Carried:
    old, given = ([new_number() for _ in range(row.aval.size + 1)] for _ in range(2))
    begin = [core.Literal(np.int32(0), one.aval) for one in old]
    also, now = computed_numbers(merged_numbers, [step, row, *old])
    behind, (whole,) = computed_numbers(lambda *numbers: [row_of(*numbers)], given)
    return Carried([], begin, old, also, now, given, behind, whole)
