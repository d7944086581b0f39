"""Observe the calls of clocks, random generators and files that the user's own lines make while JAX traces.

Python calls a profile function (`sys.setprofile`) for each call of a C function. The user's function itself runs once,
as always.
"""

from __future__ import annotations

import datetime as dt
import io
import logging
import os
import random
import secrets
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, ModuleType
from typing import Any

import jax
import jax.core
import numpy as np

from jax_debug_widgets.watch import is_library

Called = Callable[[FrameType, str], None]
"""Takes the user's frame, and the name of the function that it calls: `time.time`."""

_MODULES = {
    "time": {name for name in vars(time) if name.startswith(("time", "perf_counter", "monotonic", "process_time"))},
    "posix": {"urandom", "system", "putenv", "remove", "rename", "mkdir"},
    "nt": {"urandom", "system", "putenv", "remove", "rename", "mkdir"},
    "builtins": {"input"},
}
_SHOWN = {"posix": "os", "nt": "os", "builtins": ""}
_FILES = {one.__file__: one.__name__ for one in (random, uuid, secrets)}
_WRITING = ("write", "writelines")


@contextmanager
def calls_seen(called: Called, ran: set[CodeType]) -> Iterator[None]:
    """Report such calls made inside the context, in this thread, and add to `ran` the code of the user that ran.

    Nothing is reported or added if another profiler is active.
    """
    if sys.getprofile() is not None:
        yield
        return
    sys.setprofile(_profile(called, ran))
    try:
        yield
    finally:
        sys.setprofile(None)


def _profile(called: Called, ran: set[CodeType]) -> Callable[[FrameType, str, Any], None]:
    own: dict[str, bool] = {}

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        file = frame.f_code.co_filename
        is_own = own.get(file)
        if is_own is None:
            is_own = own[file] = not is_library(file)
        if is_own and event == "call":
            ran.add(frame.f_code)
        if event == "c_call":
            if is_own and (name := _name_of(argument)):
                called(frame, name)
        elif event == "call" and file in _FILES:
            caller = frame.f_back
            if caller is not None and not is_library(caller.f_code.co_filename):
                called(caller, f"{_FILES[file]}.{frame.f_code.co_name}")
        elif event == "call" and file == logging.__file__:
            caller = frame.f_back
            if caller is not None and not is_library(caller.f_code.co_filename) and _is_given_a_tracer(frame):
                called(caller, f"logging.{frame.f_code.co_name}")

    return profile


def _is_given_a_tracer(logs: FrameType) -> bool:
    given = logs.f_locals.get("args", ())
    return isinstance(given, tuple) and any(isinstance(one, jax.core.Tracer) for one in given)


def _name_of(function: Any) -> str:
    """Return the name of a C function that returns something else at each call, or writes; empty for other functions."""
    owner, name = getattr(function, "__self__", None), function.__name__
    if isinstance(owner, ModuleType):
        module = owner.__name__
        shown = _SHOWN.get(module, module)
        return f"{shown}.{name}".lstrip(".") if name in _MODULES.get(module, ()) else ""
    if isinstance(owner, random.Random):
        return f"random.{name}"
    if isinstance(owner, type) and issubclass(owner, dt.date):
        return f"{owner.__name__}.{name}" if name in ("now", "today", "utcnow") else ""
    if isinstance(owner, io.IOBase) and name in _WRITING:
        return (
            f"{os.path.basename(str(getattr(owner, 'name', 'file')))}.{name}"
            if isinstance(owner, io.TextIOBase)
            else name
        )
    return ""


def random_state() -> Any:
    """Return the position of NumPy's global random generator."""
    state = np.random.get_state(legacy=False)  # noqa: NPY002 - the user's generator, which is only read.
    inner: Any = state["state"]
    return inner["pos"], inner["key"][:4].tobytes(), state["has_gauss"]
