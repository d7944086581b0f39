"""Describe a stop, its frames and its variables for the browser."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jax_debug_widgets._jax.origins.stack import StackFrame
from jax_debug_widgets.breakpoints.stop import Stop
from jax_debug_widgets.breakpoints.summarised import Summarised
from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.events.numbers import as_numbers
from jax_debug_widgets.transport.arrays import statistics
from jax_debug_widgets.transport.stops import (
    ArrayStatistics,
    FrameMessage,
    LocalMessage,
    ReplaceableMessage,
    StopBody,
)

_MOST_LINES = 400
"""The most lines of source around the current line that are sent."""

_MOST_LOCALS = 200
_MOST_TEXT = 400
"""The most variables of a frame, and the most characters of a variable's text."""

_MOST_COUNTED = 4_000_000
"""The most elements of an array for which statistics are sent with the stop; otherwise they come with the array's picture."""

NameFile = Callable[[str], str]


def stop_body(stop: Stop, way: str, name_file: NameFile) -> StopBody:
    """Describe a stop as it is now. `way` is how commands reach the kernel, see `StopBody`."""
    scene = stop.scene
    return {
        "id": stop.id,
        "kind": scene.kind,
        "site": scene.site,
        "name": scene.name,
        "reason": scene.reason,
        "since": time.monotonic() - stop.began,
        "timeout": stop.timeout,
        "thread": stop.thread,
        "way": way,
        "phase": scene.phase,
        "step": list(scene.step),
        "event": scene.event,
        "lanes": {
            "sizes": list(scene.sizes),
            "chosen": list(stop.lane),
            "stopped": None if scene.stopped is None else [list(lane) for lane in scene.stopped],
        },
        "device": scene.device,
        "hits": scene.hits,
        "warning": stop.warning,
        "replaceable": _replaceable(stop),
        "frame": stop.frame,
        "frames": [_frame(index, frame, name_file, scene.device) for index, frame in enumerate(stop.frames())],
    }


def _replaceable(stop: Stop) -> ReplaceableMessage | None:
    if stop.replaceable is None:
        return None
    value = stop.replaceable.value(stop.lane)
    leaves = jax.tree.leaves(value)
    if len(leaves) != 1:
        return {"name": stop.replaceable.name, "shape": [], "dtype": plural(len(leaves), "array")}
    return {"name": stop.replaceable.name, "shape": list(leaves[0].shape), "dtype": str(leaves[0].dtype)}


def _frame(index: int, frame: StackFrame, name_file: NameFile, device: str) -> FrameMessage:
    at = frame.line - frame.first_line
    start = max(0, min(at - _MOST_LINES // 2, len(frame.source) - _MOST_LINES))
    shown = [(name, value) for name, value in frame.variables.items() if not name.startswith("__")]
    return {
        "index": index,
        "file": frame.file,
        "where": f"{name_file(frame.file)}:{frame.line}",
        "function": frame.function,
        "line": frame.line,
        "first_line": frame.first_line + start,
        "source": list(frame.source[start : start + _MOST_LINES]),
        "locals": [described(name, value, device) for name, value in shown[:_MOST_LOCALS]],
    }


def described(name: str, value: Any, device: str = "") -> LocalMessage:
    """Describe a variable of a frame."""
    if isinstance(value, Summarised):
        about: LocalMessage = {
            "name": name, "type": "Array", "text": "", "shape": list(value.shape), "dtype": value.dtype, "device": "",
            "stats": value.message(),
        }  # fmt: skip
        return about
    is_array = isinstance(value, np.ndarray | jax.Array) and not is_key(value)
    return {
        "name": name,
        "type": type(value).__name__ if not isinstance(value, jax.Array) else "Array",
        "text": brief(value),
        "shape": list(value.shape) if is_array else None,
        "dtype": str(value.dtype) if is_array else None,
        "device": device if isinstance(value, jax.Array) else "",
        "stats": _stats(value) if is_array else None,
    }


def is_key(value: Any) -> bool:
    """Whether an array holds typed PRNG keys."""
    return jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)


def as_array(value: Any) -> np.ndarray | None:
    """Return `value` as an array on the host; None if it is not an array of numbers."""
    if not isinstance(value, np.ndarray | jax.Array | np.generic | bool | int | float | complex) or (
        isinstance(value, jax.Array) and is_key(value)
    ):
        return None
    array = np.asarray(value)
    return None if array.dtype.kind in "OSUMm" else array


def brief(value: Any) -> str:
    """Return the shortened `repr` of a value; if the `repr` raises, name the error."""
    with np.printoptions(threshold=20, edgeitems=3, precision=6):
        try:
            text = repr(value)
        except Exception as error:  # noqa: BLE001 - a `__repr__` of the user's may raise anything.
            return f"<{type(value).__name__} whose repr raises {type(error).__name__}>"
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}…"


def _stats(value: Any) -> ArrayStatistics | None:
    array = as_array(value)
    if array is None or array.size > _MOST_COUNTED:
        return None
    return statistics(as_numbers(array))[0]
