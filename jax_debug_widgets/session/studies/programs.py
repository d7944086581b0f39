"""Answer questions about the programs of functions, which are traced and do not run: tables and differences."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.collecting import without_full_collecting
from jax_debug_widgets._jax.studies.programs import ProgramAnnotations, program_of
from jax_debug_widgets._jax.studies.tags import compiled_text
from jax_debug_widgets._jax.studies.trace import Traced, trace
from jax_debug_widgets.graphs import Diff, Program, ProgramTable, Traces, diff
from jax_debug_widgets.graphs.causes import causes_in
from jax_debug_widgets.graphs.hlo import without_metadata
from jax_debug_widgets.graphs.table import By
from jax_debug_widgets.session.studies.asked import require_function
from jax_debug_widgets.session.studies.seeds.asking import traced_with_seeds
from jax_debug_widgets.session.studies.values_outside import changed_between, values_outside
from jax_debug_widgets.taps.sites import phase_of
from jax_debug_widgets.watch import is_library, names_of_variables

if TYPE_CHECKING:
    from types import CodeType

    from jax_debug_widgets.session.ports import Captures
    from jax_debug_widgets.taps import Capture

MOST_LOWERED = 1000
"""The most equations of a program that is lowered for XLA's own count of flops by default; larger programs take long."""


@without_full_collecting()
def traced(
    session: Captures, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Traced, Program]:
    """Trace a call. Return the trace, and its program as frozen data.

    Raises:
      NotImplementedError: the installed JAX lacks a name that this needs. Exception: the error that tracing raises.
    """
    found = only_traced(session, function, args, kwargs)
    return found, program_of(found, reading_of(session.capture))


def only_traced(
    session: Captures, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Traced:
    """Trace a call, see `traced`."""
    if why := features.why_off(features.STEPPING):
        raise NotImplementedError(why)
    require_function(function)
    capture = session.capture
    with capture.explaining():
        return trace(function, args, kwargs, partial(lines_of, capture), whole_numbers=False, gradients=True)


def reading_of(capture: Capture) -> ProgramAnnotations:
    """Return the functions of other rooms that annotate a program."""
    return ProgramAnnotations(names_of_variables, phase_of, is_library, capture.sites.name_file)


def lines_of(capture: Capture, code: CodeType, watch: Any) -> Any:
    """Return the notes to take of a function; None for a library's, because their names would take most of the time."""
    return None if is_library(code.co_filename) else capture.lines_of(code, watch)


def table_of(
    session: Captures,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    by: By | None = None,
    xla: bool | None = None,
) -> ProgramTable:
    """Return the table of equations of `function(*args, **kwargs)`, see `jax_debug_widgets.table`."""
    found, program = traced(session, function, args, kwargs)
    asked = len(program.equations) <= MOST_LOWERED if xla is None else xla
    return ProgramTable(program, by, _flops_by_xla(found) if asked else None)


@without_full_collecting()
def diff_of(
    session: Captures,
    function: Callable[..., Any],
    other: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    other_args: Sequence[Any] | None = None,
    xla: bool = False,
) -> Diff:
    """Return the difference between the programs of two functions, see `jax_debug_widgets.diff`."""
    if callable(function) and not callable(other):
        raise TypeError("diff takes two functions, then what both take: `jdw.diff(f, g, x)`")
    before, own = traced(session, function, args, kwargs)
    after, its = traced(session, other, args if other_args is None else other_args, kwargs)
    if not xla:
        return diff(own, its)
    with session.capture.explaining():
        texts = [without_metadata(compiled_text(one)) for one in (before, after)]
    return diff(own, its, is_same_executable=texts[0] == texts[1])


LANES = 8
"""The number of lanes for comparing a function with its `vmap`."""


def transformed(
    function: Callable[..., Any], transform: str, args: Sequence[Any]
) -> tuple[Callable[..., Any], Sequence[Any]]:
    """Return a function after `grad` or `vmap`, and its arguments."""
    if transform == "grad":
        return jax.value_and_grad(function), args
    mapped = [isinstance(one, jax.Array | np.ndarray | float) or not jax.tree_util.all_leaves([one]) for one in args]
    batched = [jax.tree.map(_batched, one) if is_mapped else one for one, is_mapped in zip(args, mapped, strict=True)]
    return jax.vmap(function, [0 if is_mapped else None for is_mapped in mapped]), batched


def _batched(leaf: Any) -> jax.ShapeDtypeStruct:
    aval = jax.typeof(leaf)
    return jax.ShapeDtypeStruct((LANES, *aval.shape), aval.dtype)


def traces_of(
    session: Captures,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    seeds: int | None = None,
) -> Traces:
    """Compare two traces of a function: are they the same program? See `jax_debug_widgets.traces`."""
    own, owner = _python_function(inspect.unwrap(function))
    before, outside = traced(session, function, args, kwargs)[1], values_outside(own, owner)
    after = traced(session, function, args, kwargs)[1]
    outside_now = values_outside(own, owner)
    lines: dict[str, set[int]] = {}
    for one in (*before.equations, *after.equations):
        if one.source is not None and not is_library(one.source.file):
            lines.setdefault(one.source.file, set()).add(one.source.line)
    code = getattr(own, "__code__", None)
    if code is not None and not is_library(code.co_filename):
        lines.setdefault(code.co_filename, set()).add(code.co_firstlineno)
    name_file = session.capture.sites.name_file
    causes = [
        (f"{name_file(file)}:{one.line}", one.why)
        for file, own_lines in lines.items()
        for one in causes_in(file, own_lines, _names_in(file, own))
    ]
    at = f"{name_file(code.co_filename)}:{code.co_firstlineno}" if code is not None else ""
    causes += [
        (at, f"`{name}`, which it reads, has changed between the traces: {value} → {now}")
        for name, value, now in changed_between(outside, outside_now)
    ]
    others = None if seeds is None else traced_with_seeds(function, args, kwargs, seeds, name_file)
    return Traces(before.name, diff(before, after), causes, others)


def _python_function(function: Any) -> tuple[Any, Any]:
    """Return the function that Python runs, and the object that it is a method of; None if it is no method."""
    if inspect.ismethod(function):
        return function.__func__, function.__self__
    call: Any = inspect.getattr_static(type(function), "__call__", None)
    if inspect.isfunction(function) or not inspect.isfunction(call):
        return function, None
    return call, function


def _names_in(file: str, function: Any) -> Mapping[str, Any]:
    """Return the values of the names in a file: of the function if it is in this file, else of the file's module."""
    if getattr(getattr(function, "__code__", None), "co_filename", None) == file:
        closure = inspect.getclosurevars(function).nonlocals if inspect.isfunction(function) else {}
        return {**function.__globals__, **closure}
    module = next((one for one in list(sys.modules.values()) if getattr(one, "__file__", None) == file), None)
    return vars(module) if module is not None else {}


def _flops_by_xla(found: Traced) -> float | None:
    """Return XLA's count of flops of the lowered program; None without one, or with symbolic sizes (jaxlib 0.12 aborts)."""
    sizes = [size for one in found.jaxpr.invars for size in getattr(one.aval, "shape", ())]
    if not all(isinstance(size, int) for size in sizes):
        return None
    try:
        program = jaxpr_as_fun(ClosedJaxpr(found.jaxpr, found.consts))
        analysis = jax.jit(program).lower(*found.operands).cost_analysis()
    except Exception:  # noqa: BLE001 - the flops are optional; a program that cannot be lowered still has a table.
        return None
    count = analysis.get("flops", -1.0) if isinstance(analysis, dict) else -1.0
    return count if count >= 0 else None  # A negative number means that XLA has no count.
