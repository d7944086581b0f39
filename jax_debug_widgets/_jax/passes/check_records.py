"""Make the equations and types of the records that checks add to programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.passes.checked import Check, Checked
from jax_debug_widgets._jax.passes.operands import computed_for, with_programs
from jax_debug_widgets._jax.passes.record_rows import empty_row, row_of

Record = tuple[Checked, Any]
"""A checked equation, and the variable that holds its row."""


def from_end(length: int, count: Any) -> list[Any]:
    return [lax.sub(np.int32(length - 1), count)]


def passed_on(records: Sequence[Record]) -> tuple[list[Any], list[Record]]:
    """Return the rows that a body returns, and the records with new variables for the results of its equation."""
    return flat_rows(records), [(checked, core.Var(row.aval)) for checked, row in records]


def flat_rows(records: Sequence[Record]) -> list[Any]:
    return [row for _, row in records]


def giving(jaxpr: core.Jaxpr, results: Sequence[Any]) -> core.Jaxpr:
    return jaxpr.replace(outvars=[*jaxpr.outvars, *results], debug_info=unnamed(jaxpr))


def unnamed(jaxpr: core.Jaxpr) -> Any:
    return jaxpr.debug_info.with_unknown_names()


def in_place(program: Any, jaxpr: core.Jaxpr) -> Any:
    return program.replace(jaxpr=jaxpr) if isinstance(program, ClosedJaxpr) else jaxpr


def empty_of(size: int) -> tuple[list[Any], Any]:
    """Return the equations, and the variable, of a row of a check that has found nothing."""
    equations, (row,) = computed_numbers(lambda: [empty_row(size)], [])
    return equations, row


def row_of_check(check: Check) -> tuple[list[Any], Any]:
    """Return the equations of a check, and the variable that holds its row."""
    equations, (row,) = computed_numbers(lambda *arrays: [row_of(*check.compute(*arrays))], check.operands)
    return equations, row


def computed_numbers(function: Callable[..., Sequence[Any]], operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the equations of `function(*operands)`, and the atoms that hold its results as int32."""
    return computed_for(
        lambda *arrays: [lax.convert_element_type(one, np.int32) for one in function(*arrays)], operands
    )


def without_lines(equation: core.JaxprEqn, stack: Any) -> core.JaxprEqn:
    """Return an equation of a check without the user's line: with it, it would look like the line's own computation."""

    def inside(_key: str, jaxpr: core.Jaxpr) -> core.Jaxpr:
        return jaxpr.replace(eqns=[without_lines(one, stack) for one in jaxpr.eqns])

    bare: Any = with_programs(equation, inside)
    return bare.replace(source_info=type(equation.source_info)(None, stack))
