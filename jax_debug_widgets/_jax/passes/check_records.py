"""Equations and types of the records that checks add to programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.passes.checked import Checked
from jax_debug_widgets._jax.passes.operands import new_number, renamed

_MOST = np.int32(1 << 30)
"""Above this nothing is counted."""

Record = tuple[Checked, list[Any]]
"""What is checked, and the atoms that have its numbers."""


def from_end(length: int, count: Any) -> list[Any]:
    return [lax.sub(np.int32(length - 1), count)]


def merged_numbers(*numbers: Any) -> list[Any]:
    """A record so far, and one of this iteration: the first stays, counts add up."""
    size = len(numbers) // 2
    old, new = numbers[:size], numbers[size:]
    zero = np.int32(0)
    keep = lax.bitwise_or(lax.gt(old[0], zero), lax.eq(new[0], zero))
    count = lax.add(lax.min(old[0], _MOST), lax.min(new[0], _MOST))
    return [count, *(lax.select(keep, one, other) for one, other in zip(old[1:], new[1:], strict=True))]


def passed_on(records: Sequence[Record]) -> tuple[list[Any], list[Record]]:
    """The numbers inside, and the same records with variables outside."""
    return flat_numbers(records), [(checked, [new_number() for _ in numbers]) for checked, numbers in records]


def flat_numbers(records: Sequence[Record]) -> list[Any]:
    return [number for _, numbers in records for number in numbers]


def nothing() -> Any:
    return core.Literal(np.int32(0), new_number().aval)


def giving(jaxpr: core.Jaxpr, results: Sequence[Any]) -> core.Jaxpr:
    return jaxpr.replace(outvars=[*jaxpr.outvars, *results], debug_info=unnamed(jaxpr))


def unnamed(jaxpr: core.Jaxpr) -> Any:
    return jaxpr.debug_info.with_unknown_names()


def in_place(program: Any, jaxpr: core.Jaxpr) -> Any:
    return program.replace(jaxpr=jaxpr) if isinstance(program, ClosedJaxpr) else jaxpr


def computed_numbers(function: Callable[..., Sequence[Any]], operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The equations of `function(*operands)`, and the atoms that have its results."""
    types = [versions.type_of(one.aval) for one in operands]
    traced = jax.make_jaxpr(lambda *arrays: [lax.convert_element_type(one, np.int32) for one in function(*arrays)])(
        *types
    )
    names: dict[Any, Any] = dict(zip(traced.jaxpr.invars, operands, strict=True))
    for constant, value in zip(traced.jaxpr.constvars, traced.consts, strict=True):
        names[constant] = core.Literal(value, constant.aval)
    equations = renamed(traced.jaxpr.eqns, names)
    return equations, [one if isinstance(one, core.Literal) else names[one] for one in traced.jaxpr.outvars]
