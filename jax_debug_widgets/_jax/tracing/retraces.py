"""Report each trace of a user's jitted function, with the types and static values that it was traced for.

`pjit._infer_params` finds the program of a call. If it must trace the function, a trace begins inside it.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Iterator
from types import CodeType, FrameType
from typing import Any

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.private import pe, pjit
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing
from jax_debug_widgets._jax.origins.context import is_capturing, is_traced_for_us, is_uncached
from jax_debug_widgets._jax.origins.frames import calling_frame, is_users
from jax_debug_widgets._jax.tracing.argument_types import described
from jax_debug_widgets._jax.tracing.filter_jit import described_filtered
from jax_debug_widgets._jax.tracing.traces import Trace

_MOST_CALLERS = 8
"""The most callers of a jitted function whose lines are kept; a library may have called it."""


class TraceWatch(Replacing):
    """Reports traces while a capture is on.

    Attributes:
      subscriber: called with each trace and its program, in the thread that traces. The program is None inside the
        trace of another user function.
    """

    def __init__(self) -> None:
        super().__init__()
        self.subscriber: Callable[[Trace, Any], object] | None = None
        self._here = _Here()
        self._identities: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._count = itertools.count()

    def _put_in(self, replace: Replacements) -> None:
        if features.available(features.RETRACES):
            replace.attribute(pjit, "_infer_params", self._infer)
            replace.attribute(pe.DynamicJaxprTrace, "__init__", self._begin_trace)

    def _begin_trace(
        self, theirs: Callable[..., None], trace: Any, debug_info: Any, *args: Any, **options: Any
    ) -> None:
        theirs(trace, debug_info, *args, **options)
        if self._here.depth:
            begun = self._here.begun_for_us if is_traced_for_us() else self._here.begun
            begun.add(getattr(debug_info, "func_src_info", None))

    def _infer(
        self, theirs: Callable[..., Any], fun: Any, ji: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        code = _code_of(fun)
        is_own = code is not None and is_users(code.co_filename)
        if self.subscriber is None or code is None or not is_own or not is_capturing() or is_uncached():
            return theirs(fun, ji, args, kwargs)
        here, began = self._here, time.perf_counter()
        around, around_for_us = here.begun, here.begun_for_us
        here.begun, here.begun_for_us = set(), set()
        here.depth += 1
        try:
            inferred = theirs(fun, ji, args, kwargs)
            traced = inferred[0].params["jaxpr"].jaxpr.debug_info.func_src_info
            is_users_own, is_ours = traced in here.begun, traced in here.begun_for_us
        finally:
            here.depth -= 1
            here.begun = here.begun | around if here.depth else set()
            here.begun_for_us = here.begun_for_us | around_for_us if here.depth else set()
        # If this package traces to compare, the user's own call around it reports the trace.
        is_reported = is_users_own or (is_ours and not (here.depth and is_traced_for_us()))
        if is_reported and not _is_only_described():
            program = None if here.depth else inferred[0].params["jaxpr"]
            seconds = time.perf_counter() - began
            self.subscriber(self._trace(fun, code, ji, args, kwargs, seconds, is_ours=not is_users_own), program)
        return inferred

    def _trace(
        self,
        fun: Any,
        code: CodeType,
        ji: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        seconds: float,
        *,
        is_ours: bool,
    ) -> Trace:
        known = described_filtered(fun, args)
        fun, code = (known.function, _code_of(known.function) or code) if known else (fun, code)
        leaves, statics = (known.leaves, known.statics) if known else described(fun, ji, args, kwargs)
        name, identity = getattr(fun, "__name__", code.co_name), self._identity_of(fun)
        options = hash(ji) if isinstance(ji, Hashable) else 0
        callers = _callers(calling_frame())
        place = name, code.co_filename, code.co_firstlineno
        own_code, keywords = hash((code, *_wrappers_of(fun))), frozenset() if known else frozenset(kwargs)
        return Trace(*place, identity, callers, leaves, statics, options, seconds, is_ours, own_code, keywords)

    def _identity_of(self, fun: Any) -> int:
        try:
            return self._identities.setdefault(fun, next(self._count))
        except TypeError:  # The function cannot be weakly referenced, or not be hashed.
            return -id(fun)


class _Here(threading.local):
    """The state of the current thread.

    Attributes:
      begun: the functions whose tracing has begun, by JAX's text for them: `step at /home/me/train.py:12`.
      begun_for_us: the same, for traces that this package causes.
      depth: how many nested user functions the thread looks up or traces.
    """

    depth = 0

    def __init__(self) -> None:
        self.begun: set[str | None] = set()
        self.begun_for_us: set[str | None] = set()


def _code_of(fun: Any) -> CodeType | None:
    """Return the code of a function, of the function in a `functools.partial` or a wrapper, or of an object's `__call__`."""
    while isinstance(fun, functools.partial) or hasattr(fun, "__wrapped__"):
        fun = fun.func if isinstance(fun, functools.partial) else inspect.unwrap(fun)
    code = getattr(fun, "__code__", None)
    if code is None and callable(fun):
        code = getattr(type(fun).__call__, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _wrappers_of(fun: Any) -> Iterator[Any]:
    """The codes of the wrappers around a function: that of `jax.grad` makes another function of `f` than `f` itself."""
    while isinstance(fun, functools.partial) or hasattr(fun, "__wrapped__"):
        yield getattr(fun, "__code__", type(fun))
        fun = fun.func if isinstance(fun, functools.partial) else fun.__wrapped__


_DESCRIBING = ("eval_shape", "make_jaxpr_f")
"""JAX's functions that trace a function only to describe it, and compile nothing."""


def _is_only_described() -> bool:
    """Whether `jax.eval_shape` or `jax.make_jaxpr` traces now."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users(frame.f_code.co_filename):
        if frame.f_code.co_name in _DESCRIBING:
            return True
        frame = frame.f_back
    return False


def _callers(frame: FrameType | None) -> tuple[tuple[str, int], ...]:
    """Return the lines around a frame that are not JAX's, innermost first."""
    found: list[tuple[str, int]] = []
    while frame is not None and len(found) < _MOST_CALLERS:
        if is_users(frame.f_code.co_filename):
            found.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return tuple(found) or (("<unknown>", 0),)
