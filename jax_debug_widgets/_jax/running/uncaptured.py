"""Handle `jax.debug.breakpoint()` instead of JAX in programs that no capture has compiled.

It is not registered as a debugger of JAX. JAX would first make `jax.Array`s of the values, and these never become ready
if the threads that copy them wait at breakpoints, too. JAX would also hold a lock, so that the other threads could not
be counted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import jax
import numpy as np

from jax_debug_widgets._jax.compat.private import debugger as jax_debugger
from jax_debug_widgets._jax.compat.private import debugging, pxla
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing
from jax_debug_widgets._jax.origins.describe import describe_callback, stop_point_in
from jax_debug_widgets._jax.origins.equation import DebugCall, Lanes, StopPoint, on_host
from jax_debug_widgets._jax.origins.frames import UNKNOWN_FRAME, Frame

Fired = Callable[[DebugCall, tuple[np.ndarray, ...]], None]
"""Takes a breakpoint with its operands, on the program's thread; may raise to end it."""


class UncapturedBreakpoints(Replacing):
    """Calls `fired` at breakpoints outside captures, and `made` when one is traced.

    JAX keeps the breakpoints for which the user has chosen a debugger, and those that take a token.
    """

    def __init__(self, fired: Fired, made: Callable[[], None]) -> None:
        super().__init__()
        self._fired, self._made = fired, made
        self._found: WeakKeyDictionary[Any, tuple[StopPoint, Frame] | None] = WeakKeyDictionary()

    def _put_in(self, replace: Replacements) -> None:
        replace.attribute(debugging.debug_callback_p, "impl", self._run, begins=True)
        replace.attribute(jax_debugger.DebuggerFrame, "from_frameinfo", self._make, wrap=staticmethod)

    def _make(self, theirs: Any, info: Any) -> Any:
        self._made()
        return theirs(info)

    def _run(self, theirs: Any, *operands: Any, **params: Any) -> Callable[[], Any]:
        if not self._users or (found := self._find(params["callback"], operands)) is None:
            return partial(theirs, *operands, **params)
        point, frame = found
        arrays, types = on_host(operands) if any(isinstance(x, jax.Array) for x in operands) else (operands, ())
        equation = describe_callback(params, frame, "", arrays, Lanes((), ((),) * len(arrays)), point)
        run = partial(debugging.debug_callback_impl, **params)
        fired = replace(equation, run=run, replicas=_replicas()).with_types(types)

        def stop() -> Any:
            self._fired(fired, tuple(arrays))
            return ()

        return stop

    def _find(self, callback: Any, operands: Sequence[Any]) -> tuple[StopPoint, Frame] | None:
        """Return the stop point and frame of a callback that is a breakpoint, else None.

        The result is cached, because finding it takes a millisecond.
        """
        if not isinstance(callback, FunctionType):
            return None  # Code outside JAX has bound the primitive.
        if callback not in self._found:
            stop = stop_point_in(callback)
            frames = stop.frames(operands) if stop else ()
            frame = (
                Frame(frames[0].file, frames[0].line, -1, frames[0].line, -1, frames[0].function) if frames else None
            )
            self._found[callback] = stop and (stop, frame or UNKNOWN_FRAME)
        return self._found[callback]


def _replicas() -> int:
    """Return how many devices may run the program that has reached its breakpoint in this thread."""
    frame, is_compiled = sys._getframe(1), False
    while frame is not None:
        place = frame.f_code.co_filename, frame.f_code.co_name
        is_compiled = is_compiled or place == (debugging.__file__, "_callback")
        if is_compiled and place == (pxla.__file__, "__call__"):
            return len(frame.f_locals["self"].xla_executable.local_devices())
        frame = frame.f_back
    # In a thread of XLA this cannot be determined. Several CPU devices are assumed to be in use.
    return jax.local_device_count() if is_compiled and jax.default_backend() == "cpu" else 1
