"""Find the loops around un-jitted code under `jax.disable_jit()`.

JAX's loops are Python loops there. The frame of a `scan` holds the iteration. The frame of a `while_loop` does not, but
it calls `tree_map` before the first iteration and after each one.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import jax
import numpy as np

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.private import config, loops
from jax_debug_widgets._jax.compat.replacements import Replacements
from jax_debug_widgets._jax.origins.equation import Loop
from jax_debug_widgets._jax.origins.frames import calling_frame

_FILE = inspect.unwrap(jax.lax.scan).__code__.co_filename

_iterations: dict[int, int] = {}
"""The id of the frame of a `while_loop` -> its iteration. An entry stays until another frame has the same id."""


def count_iterations(replace: Replacements) -> None:
    """Begin to count the iterations of all `while_loop`s that begin from now on."""
    _iterations.clear()
    if features.available(features.PYTHON_LOOPS):
        replace.attribute(loops, "tree_map", _map_and_count)


def _map_and_count(theirs: Callable[..., Any], *args: Any, **options: Any) -> Any:
    frame = calling_frame()
    if config.disable_jit.value and frame.f_code.co_name == "while_loop":
        if "val" not in frame.f_locals:
            _iterations[id(frame)] = 0
        elif id(frame) in _iterations:
            _iterations[id(frame)] += 1
    return theirs(*args, **options)


def loops_now() -> tuple[tuple[Loop, ...], tuple[np.ndarray, ...]]:
    """Return the loops around the caller, outermost first, and the iteration of each, int32[].

    Return none at all if one of the iterations is unknown: the `while_loop` began before the capture, or JAX has other
    names.
    """
    if not features.available(features.PYTHON_LOOPS) or not config.disable_jit.value:
        return (), ()
    try:
        found = list(_loops_of(sys._getframe(1)))[::-1]
    except KeyError:
        return (), ()
    return tuple(Loop(length) for length, _ in found), tuple(np.asarray(number, np.int32) for _, number in found)


def _loops_of(frame: FrameType | None) -> Iterator[tuple[int | None, int]]:
    while frame is not None:
        if frame.f_code.co_filename == _FILE:
            match frame.f_code.co_name:
                case "scan":
                    yield frame.f_locals["length"], frame.f_locals["i"]
                case "while_loop":
                    yield None, _iterations[id(frame)]
        frame = frame.f_back
