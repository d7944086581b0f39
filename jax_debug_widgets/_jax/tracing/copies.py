"""Copy the inputs and results of derivatives, so that each has an equation with the line that asks for the derivative.

The equations that `jax.jvp`, `jax.linearize` and `jax.vjp` make have the lines of the differentiated function, and none has
the line of the call. So the tangents and cotangents that the user passes in, and the results, are copied there. The copies
are not in the compiled program: JAX lowers a copy to its operand.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType
from typing import Any

import jax
import jax.numpy as jnp

from jax_debug_widgets._jax.compat.caching import cached_by_identity
from jax_debug_widgets._jax.compat.private import (
    ad,
    api,
    batching,
    core,
    lax,
    linear_util,
    pe,
    source_info_util,
    traceback_util,
    tree_util,
)
from jax_debug_widgets._jax.compat.replacements import Replacements
from jax_debug_widgets._jax.origins.context import captured_settings
from jax_debug_widgets._jax.origins.frames import calling_frame
from jax_debug_widgets._jax.origins.inlining import traceback_of

_here = threading.local()

_PALLAS = os.path.join("jax", "_src", "pallas", "")


def put_in(replace: Replacements) -> None:
    """Replace the functions by which JAX runs derivatives."""
    replace.attribute(api.VJP, "__call__", _pull_back)
    replace.attribute(api, "_lift_linearized", _push)
    replace.attribute(api, "_jvp", _push_beside)
    replace.attribute(ad, "linearize", _linearize)


def _pull_back(theirs: Callable[..., Any], pullback: Any, *args: Any) -> Any:
    if not _copies_for(calling_frame()):  # `jax.grad` calls a pullback too.
        return theirs(pullback, *args)
    return _copied(theirs(pullback, *_given_as_cotangents(args)))


def _push(theirs: Callable[..., Any], *args: Any) -> Any:
    """Run the linear function that `jax.linearize` returned, and copy its results if the user called it."""
    given = theirs(*args)
    return _copied(given) if _copies_for(calling_frame()) else given


def _push_beside(theirs: Callable[..., Any], function: Any, values: Any, tangents: Any, **options: Any) -> Any:
    """Run `jax.jvp`, also for `jacfwd` and `hessian`; copy the tangents that go in, and the results."""
    if not (is_watching() and _is_compiling()):
        return theirs(function, values, tangents, **options)
    given = theirs(function, values, _pushed(tangents), **options)
    return tuple(map(give_back, given))


def _linearize(theirs: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Linearize for `jax.linearize` and `jax.vjp`; copy the values and auxiliary outputs, but no residuals."""
    given = theirs(*args, **options)
    caller = calling_frame()
    is_one_of_these = caller.f_code.co_filename == api.__file__ and caller.f_code.co_name in ("linearize", "vjp")
    if not (is_one_of_these and _copies_for(caller.f_back) and _is_compiling()):  # `jax.grad` calls `jax.vjp` too.
        return given
    values, known, program, kept, *aux = given
    leaves = give_back([*values])
    values = values.update(leaves) if hasattr(values, "update") else leaves  # Before jax 0.10 a list.
    return values, known, program, kept, *map(give_back, aux)


def _given_as_cotangents(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copy the cotangents that the user passes to a pullback: only the copies show which operands of its equations they are."""
    return _copied(args)


def _pushed(tangents: Any) -> Any:
    """Copy the tangents that go in, also those that are constants: `tangents` follows tangents from these copies on."""
    leaves, tree = jax.tree.flatten(tangents)
    return tree.unflatten([lax.copy_p.bind(leaf) if _is_continuous(leaf) else leaf for leaf in leaves])


def give_back(given: Any) -> Any:
    """Copy the results of a derivative. The frame of this function in the copy's traceback marks the copy."""
    return _copied(given)


def is_given_as_cotangent(equation: core.JaxprEqn) -> bool:
    """Whether an equation is a copy that `_given_as_cotangents` has made."""
    return is_copied_in(equation, _given_as_cotangents)


def is_pushed(equation: core.JaxprEqn) -> bool:
    """Whether an equation is a copy that `_pushed` has made."""
    return is_copied_in(equation, _pushed)


def is_given_back(equation: core.JaxprEqn) -> bool:
    """Whether an equation is a copy that `give_back` has made."""
    return is_copied_in(equation, give_back)


def is_copied(equation: core.JaxprEqn) -> bool:
    """Whether an equation is a copy that a function of this module has made."""
    return is_copied_in(equation, _copied, _pushed)


def is_copied_in(equation: core.JaxprEqn, *functions: FunctionType) -> bool:
    """Whether an equation is a copy that was made while one of these functions ran."""
    if equation.primitive is not lax.copy_p:
        return False
    traceback = traceback_of(equation.source_info)
    codes = () if traceback is None else traceback.raw_frames()[0]
    return any(one.__code__ in codes for one in functions)


def _copies_for(caller: FrameType | None) -> bool:
    """Whether the user has called this function, maybe through `jax.vmap`, in a capture that watches values."""
    while caller is not None and _hands_on(caller.f_code):
        caller = caller.f_back
    return caller is not None and source_info_util.is_user_filename(caller.f_code.co_filename) and is_watching()


@cached_by_identity
def _hands_on(code: CodeType) -> bool:
    """Whether the code is JAX's and only calls the function that it is given, as `jax.tree_util.Partial` and `jax.vmap` do."""
    return code.co_filename in _handing_on() or (code.co_filename == api.__file__ and code.co_name == "vmap_f")


@functools.cache
def _handing_on() -> set[str | None]:
    return {module.__file__ for module in (tree_util, batching, linear_util, traceback_util)}


def _copied(given: Any) -> Any:
    """Copy each leaf of a tree that becomes part of a compiled program; the other leaves stay as they are."""
    # Not `jax.tree.map`: with it on the stack, the copy would look like one made by a tree map of the user's.
    leaves, tree = jax.tree.flatten(given)
    return tree.unflatten([lax.copy_p.bind(leaf) if _is_compiled(leaf) else leaf for leaf in leaves])


def _is_continuous(value: Any) -> bool:
    """Whether a value is an inexact array, which may have a derivative; tangents of integers have dtype float0."""
    return is_array(core.typeof(value)) and jax.dtypes.issubdtype(jax.dtypes.result_type(value), jnp.inexact)


def _is_compiled(value: Any) -> bool:
    """Whether a value is traced into a program; outside of one, JAX would run the copy."""
    while isinstance(value, core.Tracer) and not isinstance(value._trace, pe.DynamicJaxprTrace):
        value = getattr(value, "val", getattr(value, "primal", None))
    return isinstance(value, core.Tracer) and is_array(value.aval)


def is_array(aval: Any) -> bool:
    """Whether values of a type can be copied: not a `Ref`, and not a type that the user has defined."""
    return isinstance(aval, core.ShapedArray)


def _is_compiling() -> bool:
    """Whether the current thread traces operations into a program, rather than runs them."""
    trace: Any = core.trace_ctx.trace
    while not isinstance(trace, pe.DynamicJaxprTrace) and hasattr(trace, "parent_trace"):
        trace = trace.parent_trace
    return isinstance(trace, pe.DynamicJaxprTrace)


@contextmanager
def marking() -> Iterator[None]:
    """Mark the tangents that the current thread traces, as watching does, but make no copies."""
    _here.is_marking = True
    try:
        yield
    finally:
        _here.is_marking = False


def is_marking() -> bool:
    """Whether the current thread marks the tangents that it traces."""
    return is_watching() or (getattr(_here, "is_marking", False) and not _is_in_kernel())


def is_watching() -> bool:
    """Whether the current thread's capture watches values, outside of Pallas kernels."""
    settings = captured_settings()
    return settings is not None and settings.watch is not None and not _is_in_kernel()


def _is_in_kernel() -> bool:
    """Whether Pallas traces or differentiates a kernel now. Nothing in it is watched: its compilers cannot lower a copy."""
    if "jax._src.pallas" not in sys.modules:
        return False
    frame: FrameType | None = sys._getframe()
    while frame is not None and _PALLAS not in frame.f_code.co_filename:
        frame = frame.f_back
    return frame is not None
