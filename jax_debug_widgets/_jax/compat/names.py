"""Find the name of the user's function that a program was made from."""

from __future__ import annotations

import inspect
import sys
from types import FrameType

_IN_PMAP = ("_fun", "call_wrapped")
"""The functions that `jax.pmap` jits instead of the user's."""


def function_of(program: str) -> str:
    """Return the name `f` of the function of a program, named `jit(f)` or `jit_f`, that this thread prepares or dispatches."""
    inside = program.removeprefix("jit(")
    return unwrapped(program.removeprefix("jit_") if inside == program else inside.removesuffix(")"))


def unwrapped(name: str) -> str:
    """Return the name of a function; for a wrapper of `jax.pmap`, the name of the user's function inside."""
    return _pmapped_now() or name if name in _IN_PMAP else name


def _pmapped_now() -> str:
    """Return the user's function of the innermost pmapped call that this thread is in; empty if it is in none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and "infer_params" not in frame.f_code.co_freevars:
        frame = frame.f_back
    if frame is None:
        return ""
    variables = inspect.getclosurevars(frame.f_locals["infer_params"]).nonlocals
    function = variables.get("wrapped_fun", variables.get("f"))
    return getattr(getattr(function, "func", function), "__name__", "")
