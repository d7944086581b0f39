"""The loops around what runs un-jitted under `jax.disable_jit()`: there JAX's loops are Python's, and their frames count."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

import jax
import numpy as np
from jax._src import config

from jax_debug_widgets._jax.equation import Loop

_FILE = inspect.unwrap(jax.lax.scan).__code__.co_filename


def loops_now() -> tuple[tuple[Loop, ...], tuple[np.ndarray, ...]]:
    """The loops around the caller, outermost first, and the iteration of each, int32[].

    Nothing at all if one of them does not know: a `while_loop` that no `fori_loop` has made, or a JAX with other names.
    """
    if not config.disable_jit.value:
        return (), ()
    try:
        found = list(_loops_of(sys._getframe(1)))[::-1]
    except (KeyError, TypeError):
        return (), ()
    return tuple(Loop(length) for length, _ in found), tuple(np.asarray(number, np.int32) for _, number in found)


def _loops_of(frame: FrameType | None) -> Iterator[tuple[int | None, int]]:
    fori: Mapping[str, Any] = {}
    while frame is not None:
        if frame.f_code.co_filename == _FILE:
            found = frame.f_locals
            match frame.f_code.co_name:
                case "scan":
                    yield found["length"], found["i"]
                case "while_body_fun":  # Of `fori_loop`, with what goes through the `while_loop` that it is.
                    fori = found
                case "while_loop":
                    yield None, int(fori["i"]) - int(found["init_val"][0])
                    fori = {}
        frame = frame.f_back
