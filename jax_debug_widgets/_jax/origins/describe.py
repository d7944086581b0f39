"""Describe the equations of JAX's debugging primitives.

A description has the facts about a print or callback, and a function that does what JAX does.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from jax_debug_widgets._jax.compat import features, versions
from jax_debug_widgets._jax.compat.arrays import cpu
from jax_debug_widgets._jax.compat.private import debugging
from jax_debug_widgets._jax.origins.equation import DebugCall, Lanes, StopPoint
from jax_debug_widgets._jax.origins.frames import Frame
from jax_debug_widgets.events.function_names import short_function


def describe_print(
    params: Mapping[str, Any], frame: Frame, name_stack: str, avals: Sequence[Any], lanes: Lanes
) -> DebugCall:
    """Describe the equation of a `debug_print` primitive with these parameters."""
    record = params.get("logging_record")  # jax 0.8 has no `jax.debug.log`
    format_string, has_placeholders = params["fmt"], params["has_placeholders"]

    def text(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        # The two branches of `jax._src.debugging._format_print_callback`, without the write to stdout.
        if not has_placeholders:
            assert not kwargs, "Format without placeholders should not have kwargs."
            return " ".join((format_string, *(str(arg) for arg in args)))
        return format_string.format(*args, **kwargs)

    def run(*operands: Any) -> None:
        debugging.debug_print_impl(*operands, **params)

    return DebugCall(
        kind="print" if record is None else "log",
        ordered=params["ordered"],
        frame=frame,
        name_stack=name_stack,
        shapes=tuple(tuple(aval.shape) for aval in avals),
        dtypes=tuple(aval.dtype for aval in avals),
        lanes=lanes,
        in_tree=params["in_tree"],
        static=dict(params["static_args"]),
        format=format_string,
        text=text,
        text_options=params["np_printoptions"] if has_placeholders else (),
        run=run,
    )


def describe_callback(
    params: Mapping[str, Any],
    frame: Frame,
    name_stack: str,
    avals: Sequence[Any],
    lanes: Lanes,
    stop: StopPoint | None = None,
) -> DebugCall:
    """Describe the equation of a `debug_callback` primitive with these parameters; `stop` is given if it is known."""
    flat_callback = params["callback"]
    user_callback, in_tree, static = _opened(flat_callback)

    def run(*operands: Any) -> None:
        # `debug_callback_impl` without its `device_put`, which takes 10 µs although the operands are on the host already.
        with versions.callback_context(cpu()[0]):
            try:
                flat_callback(*operands)
            except BaseException as error:
                from_theirs = error.__traceback__ and error.__traceback__.tb_next
                exc_info = type(error), error, from_theirs
                logging.getLogger(debugging.__name__).exception("jax.debug.callback failed", exc_info=exc_info)
                raise

    return DebugCall(
        kind="breakpoint" if is_breakpoint(user_callback) else "callback",
        ordered=isinstance(params["effect"], debugging.OrderedDebugEffect),
        frame=frame,
        name_stack=name_stack,
        shapes=tuple(tuple(aval.shape) for aval in avals),
        dtypes=tuple(aval.dtype for aval in avals),
        lanes=lanes,
        in_tree=in_tree,
        static=static,
        format=function_name(user_callback),
        run=run,
        stop=stop or stop_point(user_callback),
    )


def stop_point(user_callback: Any) -> StopPoint | None:
    """Return the stop point of a callback that `jax.debug.breakpoint` has made.

    Return None for other callbacks, and for a breakpoint of another debugger.
    """
    if not is_breakpoint(user_callback) or not features.available(features.BREAKPOINTS):
        return None
    from jax_debug_widgets._jax.origins.stack import frames_of_breakpoint, names_in_breakpoint

    frames = frames_of_breakpoint(user_callback)
    if frames is None:
        return None
    names = names_in_breakpoint(user_callback)
    # With a token its leaves come first.
    return StopPoint("", False, slice(0, 0), None, names, lambda values: frames(values[len(values) - len(names) :]))


def stop_point_in(flat_callback: Any) -> StopPoint | None:
    """Return the stop point of the function inside the callback that `jax.debug.callback` made; see `stop_point`."""
    return stop_point(_opened(flat_callback)[0])


def function_name(function: Any) -> str:
    """Return the name to show for a function.

    It has no address, unlike a `repr`, because sites are matched by it.
    """
    if is_breakpoint(function):
        return "breakpoint"
    if isinstance(function, partial):
        return function_name(function.func)
    return short_function(getattr(function, "__qualname__", None) or type(function).__qualname__)


def is_breakpoint(function: Any) -> bool:
    """Return whether a function is the one that `jax.debug.breakpoint` passes to its callback."""
    name = getattr(function, "__qualname__", "")
    return name.startswith("breakpoint.<locals>") and getattr(function, "__module__", "") == "jax._src.debugger.core"


def _opened(flat_callback: Any) -> tuple[Any, Any, Mapping[int, Any]]:
    """Return the user's function and the structure of its arguments, from the closure that `jax.debug.callback` made.

    JAX keeps them nowhere else. A callback bound by other code has no such closure (equinox binds the primitive
    itself). Then it is the user's function itself, and its arguments are flat.
    """
    code, cells = getattr(flat_callback, "__code__", None), getattr(flat_callback, "__closure__", None)
    if code is None or cells is None:
        return flat_callback, None, {}
    closure = dict(zip(code.co_freevars, (cell.cell_contents for cell in cells), strict=True))
    if not {"callback", "in_tree", "static_args"} <= closure.keys():
        return flat_callback, None, {}
    return closure["callback"], closure["in_tree"], dict(closure["static_args"])
