"""Copies, so that what derivatives give has an equation of its own, with the line of the source.

What `jax.jvp`, `jax.linearize` and `jax.vjp` give, and the functions that the latter give, has the lines of the function that
is differentiated, and none says where it is called. A copy does: of what is pushed or pulled back, and of what comes out. In
the compiled program there is none: JAX lowers it to what it copies.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import jax
import jax.numpy as jnp

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
    """Replace JAX's functions by ours."""
    replace.attribute(api.VJP, "__call__", _pull_back)
    replace.attribute(api, "_lift_linearized", _push)
    replace.attribute(api, "_jvp", _push_beside)
    replace.attribute(ad, "linearize", _linearize)


def _pull_back(theirs: Callable[..., Any], pullback: Any, *args: Any) -> Any:
    if not _copies_for(calling_frame()):  # `jax.grad` calls one as well.
        return theirs(pullback, *args)
    return _copied(theirs(pullback, *_given_as_cotangents(args)))


def _push(theirs: Callable[..., Any], *args: Any) -> Any:
    """What the function is called that `jax.linearize` gives."""
    given = theirs(*args)
    return _copied(given) if _copies_for(calling_frame()) else given


def _push_beside(theirs: Callable[..., Any], function: Any, values: Any, tangents: Any, **options: Any) -> Any:
    """What pushes tangents beside the values: `jax.jvp`, `jacfwd` and `hessian`."""
    if not (is_watching() and _is_compiling()):
        return theirs(function, values, tangents, **options)
    given = theirs(function, values, _pushed(tangents), **options)
    return tuple(map(give_back, given))


def _linearize(theirs: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What `jax.linearize` and `jax.vjp` call: the values are told apart from what is kept for the function beside them."""
    given = theirs(*args, **options)
    caller = calling_frame()
    is_one_of_these = caller.f_code.co_filename == api.__file__ and caller.f_code.co_name in ("linearize", "vjp")
    if not (is_one_of_these and _copies_for(caller.f_back) and _is_compiling()):  # `jax.grad` calls `jax.vjp`, too.
        return given
    values, known, program, kept, *aux = given
    leaves = give_back([*values])
    values = values.update(leaves) if hasattr(values, "update") else leaves  # Before jax 0.10 a list.
    return values, known, program, kept, *map(give_back, aux)


def _given_as_cotangents(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """What the user pulls back: of what takes it nothing else tells which operand is the cotangent."""
    return _copied(args)


def _pushed(tangents: Any) -> Any:
    """What is pushed beside values, with constants: from these on there are tangents."""
    leaves, tree = jax.tree.flatten(tangents)
    return tree.unflatten([lax.copy_p.bind(leaf) if _is_continuous(leaf) else leaf for leaf in leaves])


def give_back(given: Any) -> Any:
    """What comes out: a value to who has asked for it. By this frame such copies are known."""
    return _copied(given)


def is_given_as_cotangent(equation: core.JaxprEqn) -> bool:
    """Whether an equation is such a copy of what is pulled back."""
    return _given_as_cotangents.__code__ in _copied_by(equation)


def is_pushed(equation: core.JaxprEqn) -> bool:
    """Whether it is one of what is pushed beside values."""
    return _pushed.__code__ in _copied_by(equation)


def is_given_back(equation: core.JaxprEqn) -> bool:
    """Whether it is one of what comes out."""
    return give_back.__code__ in _copied_by(equation)


def is_copied(equation: core.JaxprEqn) -> bool:
    """Whether it is a copy that was made here."""
    return not {_copied.__code__, _pushed.__code__}.isdisjoint(_copied_by(equation))


def is_copied_in(equation: core.JaxprEqn, code: CodeType) -> bool:
    """Whether it is a copy that this function has made."""
    return code in _copied_by(equation)


def _copied_by(equation: core.JaxprEqn) -> Sequence[CodeType]:
    """The frames in which a copy was made; none of what is no copy."""
    traceback = traceback_of(equation.source_info) if equation.primitive is lax.copy_p else None
    return () if traceback is None else traceback.raw_frames()[0]


def _copies_for(caller: FrameType | None) -> bool:
    """Whether the user has called this function, maybe through `jax.vmap`, and is watching."""
    while caller is not None and _hands_on(caller.f_code):
        caller = caller.f_back
    return caller is not None and source_info_util.is_user_filename(caller.f_code.co_filename) and is_watching()


@functools.lru_cache(maxsize=1024)
def _hands_on(code: CodeType) -> bool:
    """Whether it is JAX's, and only calls what it is given: a `jax.tree_util.Partial`, or `jax.vmap`."""
    return code.co_filename in _handing_on() or (code.co_filename == api.__file__ and code.co_name == "vmap_f")


@functools.cache
def _handing_on() -> set[str | None]:
    return {module.__file__ for module in (tree_util, batching, linear_util, traceback_util)}


def _copied(given: Any) -> Any:
    """The same, copied where a program is compiled."""
    # Without `jax.tree.map`: with that on the stack it would be one of the user's that goes through a tree.
    leaves, tree = jax.tree.flatten(given)
    return tree.unflatten([lax.copy_p.bind(leaf) if _is_compiled(leaf) else leaf for leaf in leaves])


def _is_continuous(value: Any) -> bool:
    """Whether it may have a derivative: of integers the tangents are empty."""
    return is_array(core.typeof(value)) and jax.dtypes.issubdtype(jax.dtypes.result_type(value), jnp.inexact)


def _is_compiled(value: Any) -> bool:
    """Whether what is computed of a value becomes part of a program: un-jitted a copy would be one."""
    while isinstance(value, core.Tracer) and not isinstance(value._trace, pe.DynamicJaxprTrace):
        value = getattr(value, "val", getattr(value, "primal", None))
    return isinstance(value, core.Tracer) and is_array(value.aval)


def is_array(aval: Any) -> bool:
    """Whether values of a type can be copied: no `Ref`, and no type of the user's own."""
    return isinstance(aval, core.ShapedArray)


def _is_compiling() -> bool:
    """Whether what is computed now becomes part of a program."""
    trace: Any = core.trace_ctx.trace
    while not isinstance(trace, pe.DynamicJaxprTrace) and hasattr(trace, "parent_trace"):
        trace = trace.parent_trace
    return isinstance(trace, pe.DynamicJaxprTrace)


@contextmanager
def marking() -> Iterator[None]:
    """Mark the tangents that the current thread traces, as where it watches, and copy nothing."""
    _here.is_marking = True
    try:
        yield
    finally:
        _here.is_marking = False


def is_marking() -> bool:
    """Whether the tangents have marks that the current thread traces."""
    return is_watching() or (getattr(_here, "is_marking", False) and not _is_in_kernel())


def is_watching() -> bool:
    """Whether the current thread watches what it traces."""
    settings = captured_settings()
    return settings is not None and settings.watch is not None and not _is_in_kernel()


def _is_in_kernel() -> bool:
    """Whether Pallas traces or differentiates a kernel, in which nothing is watched: its compilers know of no copies."""
    if "jax._src.pallas" not in sys.modules:
        return False
    frame: FrameType | None = sys._getframe()
    while frame is not None and _PALLAS not in frame.f_code.co_filename:
        frame = frame.f_back
    return frame is not None
