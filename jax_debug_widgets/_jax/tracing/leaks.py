"""Find traces that are still alive after they have ended, because the user's code holds one of their tracers (S3).

A weak reference to each trace is kept. Tracers are searched only if a trace is still alive.
"""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any

from jax_debug_widgets._jax.compat import features, versions
from jax_debug_widgets._jax.compat.names import unwrapped
from jax_debug_widgets._jax.compat.private import ad, batching, core, pe
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing
from jax_debug_widgets._jax.origins.frames import Frame, frame_at, frames_of, users_stack

_WORDS = {"BatchTrace": "jax.vmap", "JVPTrace": "a derivative", "LinearizeTrace": "a derivative"}
_BY = {"jax.vmap": "vmap", "a derivative": "derivative"}


@dataclass(frozen=True)
class Origin:
    """The origin of a tracer.

    Attributes:
      type: `float32[3]`.
      function: the function that was traced; or the un-jitted transformation: `jax.vmap`.
      frames: the user's frames that made the tracer, innermost first; for an argument, the function's first line.
      argument: the name of the argument, if the tracer is one; else empty.
      by: what traces: `jit`, `fori_loop`, `scan`, `vmap`, `derivative`; empty if unknown.
    """

    type: str
    function: str
    frames: tuple[Frame, ...]
    argument: str = ""
    by: str = ""


class LeakHooks(Replacing):
    """Installs the hooks, counted, so that captures may nest and overlap."""

    def __init__(self, wanted: Callable[[], bool]) -> None:
        """Make the hooks. `wanted` returns whether the current thread's capture needs them."""
        super().__init__()
        self._wanted = wanted
        self._here = _Here()

    def _put_in(self, replace: Replacements) -> None:
        if features.available(features.TRACING):
            for trace in (pe.DynamicJaxprTrace, ad.JVPTrace, ad.LinearizeTrace, batching.BatchTrace):
                replace.attribute(trace, "__init__", self._begin_trace)

    def _begin_trace(self, theirs: Callable[..., None], trace: Any, *args: Any, **options: Any) -> None:
        theirs(trace, *args, **options)
        if self._wanted():
            self._here.traces.append((weakref.ref(trace), users_stack()))

    def leaked(self) -> list[tuple[Any, tuple[Frame, ...]]]:
        """Find the tracers of this thread's traces that are still held, with the user's frames that began the trace.

        A second call does not return the same traces again.
        """
        if not core.trace_state_clean():
            return []
        traces, self._here.traces = self._here.traces, []
        if not any(one() is not None for one, _ in traces):
            return []
        gc.collect()
        alive = {id(trace): (trace, line) for one, line in traces if (trace := one()) is not None}
        tracers = (
            one for one in gc.get_referrers(*(trace for trace, _ in alive.values())) if isinstance(one, core.Tracer)
        )
        return [
            (one, tuple(frame_at(*place) for place in alive[id(one._trace)][1]))
            for one in tracers
            if id(one._trace) in alive
        ]


class _Here(threading.local):
    """The traces that the current thread has begun, each with the user's frames that began it."""

    def __init__(self) -> None:
        self.traces: list[tuple[weakref.ref[Any], tuple[tuple[CodeType, int], ...]]] = []


def origin_of(tracer: Any) -> Origin:
    """Return the origin of a tracer."""
    trace = getattr(tracer, "_trace", None)
    frame = getattr(trace, "frame", None)
    info = getattr(frame, "debug_info", None)
    type_ = tracer.aval.str_short(short_dtypes=False) if hasattr(tracer.aval, "str_short") else str(tracer.aval)
    made = _made_at(tracer)
    if info is None:
        words = _WORDS.get(type(trace).__name__, "a transformation")
        return Origin(type_, words, made, by=_BY.get(words, ""))
    name, _, place = info.func_src_info.partition(" at ")
    # The traced object is not a function but has `__call__`.
    if name == "<unknown>" and made and not versions.TRACEBACKS_LEAVE_THEIR_PROGRAM:
        name = made[-1].function
    variables = list(getattr(frame, "invars", ()))
    number = next((k for k, one in enumerate(variables) if one is getattr(tracer, "val", None)), -1)
    names = info.arg_names or ()
    if 0 <= number < len(names):
        file, _, first = place.rpartition(":")
        made = (Frame(file, int(first), -1, int(first), -1, name),) if first.isdigit() else ()
        return Origin(type_, unwrapped(name), made, str(names[number]), info.traced_for)
    return Origin(type_, unwrapped(name), made, by=info.traced_for)


def within_derivatives(tracer: Any) -> Any:
    """Return the tracer that is inside those of derivatives, which only add a tangent to it."""
    while isinstance(primal := getattr(tracer, "primal", None), core.Tracer):
        tracer = primal
    return tracer


def _made_at(tracer: Any) -> tuple[Frame, ...]:
    """Return the user's frames that made a tracer.

    The tracer of a derivative has those of the value that it wraps; of an un-jitted one, where that is no tracer, those of
    its tangent.
    """
    while isinstance(tracer, core.Tracer):
        line = getattr(getattr(tracer, "_line_info", None), "traceback", None) or getattr(
            getattr(tracer, "source_info", None), "traceback", None
        )
        if frames := frames_of(line):
            return frames
        primal = getattr(tracer, "primal", None)
        tracer = primal if isinstance(primal, core.Tracer) else getattr(tracer, "tangent", None)
    return ()
