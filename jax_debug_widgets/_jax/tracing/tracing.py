"""Find out, while the user's function runs, which function the current thread is tracing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.names import unwrapped
from jax_debug_widgets._jax.compat.private import core, pe

_UNJITTED = {"BatchTrace": "vmap", "JVPTrace": "jvp", "LinearizeTrace": "grad"}
"""Maps the type of an un-jitted transformation's trace to the name of the transformation."""

_STAGING = ("jit", "pmap", "shard_map")
"""Transformations that trace once for many calls. Inside a `shard_map`, JAX does not expose a `jit` around it."""


@dataclass(frozen=True)
class Tracing:
    """A function that is being traced.

    Attributes:
      function: JAX's text for it, `step at /home/me/train.py:12`. It is the function of the outermost `jit`; without a
        `jit`, it is the name of the transformation: `grad`.
      signature: its traced arguments and their types, `(("x", "float32[3]"), …)`; None for an un-jitted transformation,
        which runs the function each time.
      inside: the control flow in it that is being traced, outermost first: `scan`.
      trace: JAX's trace object, which is the same during one trace.
    """

    function: str
    signature: tuple[tuple[str, str], ...] | None
    inside: tuple[str, ...]
    trace: Any


def tracing_now() -> Tracing | None:
    """Return the function and transformation that the current thread traces; None if it traces nothing, or that is unknown."""
    if not features.available(features.TRACING) or core.trace_state_clean():
        return None
    staged, other = [], None
    trace = core.trace_ctx.trace
    while trace is not None:
        info = getattr(getattr(trace, "frame", None), "debug_info", None)
        if isinstance(trace, pe.DynamicJaxprTrace) and info is not None:
            staged.append((trace, info))
        elif type(trace).__name__ in _UNJITTED:
            other = trace
        trace = getattr(trace, "parent_trace", None)
    jitted = [number for number, (_, info) in enumerate(staged) if info.traced_for in _STAGING]
    if jitted:
        trace, info = staged[jitted[-1]]
        inside = tuple(one.traced_for for _, one in staged[: jitted[-1]][::-1])
        name, _, place = info.func_src_info.partition(" at ")
        types = [str(variable.aval) for variable in trace.frame.invars]
        names = (*(info.arg_names or ()), *("" for _ in types))
        return Tracing(f"{unwrapped(name)} at {place}", tuple(zip(names, types, strict=False)), inside, trace)
    if other is None:
        return None
    inside = tuple(one.traced_for for _, one in staged[::-1])
    return Tracing(_UNJITTED[type(other).__name__], None, inside, other)


def functions_traced(maker: Any = None) -> set[str]:
    """Return all functions that the current thread is tracing, as JAX calls them: `step at /home/me/train.py:12`.

    Args:
      maker: a trace, or a trace's frame, that is finishing the program of one of them.
    """
    frames, trace = [maker, getattr(maker, "frame", None)], core.trace_ctx.trace
    while trace is not None:
        frames.append(getattr(trace, "frame", None))
        trace = getattr(trace, "parent_trace", None)
    infos = [getattr(frame, "debug_info", None) for frame in frames]
    return {info.func_src_info for info in infos if isinstance(info, core.DebugInfo)}
