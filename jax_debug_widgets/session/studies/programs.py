"""Questions about the program of a function, which is traced and does not run: its table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.studies.programs import Reading, program_of
from jax_debug_widgets._jax.studies.trace import Traced, trace
from jax_debug_widgets.graphs import Program, ProgramTable
from jax_debug_widgets.graphs.table import By
from jax_debug_widgets.taps.sites import phase_of
from jax_debug_widgets.watch import is_library, names_of_variables

if TYPE_CHECKING:
    from jax_debug_widgets.session.session import Session

MOST_LOWERED = 1000
"""Of a program of more equations XLA's own count is taken only where it is asked for: to lower it takes longer."""


def traced(
    session: Session, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Traced, Program]:
    """What JAX traces of a call, and the same as frozen data.

    Raises:
      NotImplementedError: the installed JAX has not what it takes. Exception: what tracing the function raises.
    """
    if why := features.why_off(features.STEPPING):
        raise NotImplementedError(why)
    capture = session.capture
    reading = Reading(names_of_variables, phase_of, is_library, capture.sites.name_file)
    with capture.explaining():
        found = trace(function, args, kwargs, capture.lines_of, whole_numbers=False)
        return found, program_of(found, reading)


def table_of(
    session: Session,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    by: By | None = None,
    xla: bool | None = None,
) -> ProgramTable:
    """The equations of `function(*args, **kwargs)`, see `jax_debug_widgets.table`."""
    found, program = traced(session, function, args, kwargs)
    asked = len(program.equations) <= MOST_LOWERED if xla is None else xla
    return ProgramTable(program, by, _flops_by_xla(found) if asked else None)


def _flops_by_xla(found: Traced) -> float | None:
    """XLA's count of the lowered program; None where it has none."""
    try:
        program = jaxpr_as_fun(ClosedJaxpr(found.jaxpr, found.consts))
        told = jax.jit(program).lower(*found.operands).cost_analysis()
    except Exception:  # noqa: BLE001 - a figure beside ours; what cannot be lowered has a table nevertheless.
        return None
    return told.get("flops") if isinstance(told, dict) else None
