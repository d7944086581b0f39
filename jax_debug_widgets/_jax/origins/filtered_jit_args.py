"""Find the arguments of a library's `jit`: `equinox.filter_jit` and `flax.nnx.jit` pass lists of leaves to `jax.jit`.

JAX names the leaves `dynamic_nodonate['first'][3]` and `model.states[0][3]`. While the program is lowered, the frame of
the library's call is on Python's stack. Its arguments hold the same arrays under their names: `model.layers[1].weight`.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import FrameType, FunctionType
from typing import Any

import jax

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.private import pjit
from jax_debug_widgets._jax.compat.trees import leaves_with_paths

_MAX_FRAMES = 8
"""How many frames outwards from `jax.jit` are searched for the user's call."""


@dataclass(frozen=True)
class LibraryCall:
    """The function that a library has jitted, and the names of its arguments.

    Attributes:
      file, line, name: the place and name of the user's function.
      names: JAX's name of an input of the program -> the user's name: `model.layers[1].weight`.
    """

    file: str
    line: int
    name: str
    names: dict[str, str]


def given(program: Any) -> LibraryCall | None:
    """Return the library's call of the program that is being lowered; None if no library has jitted it."""
    if not features.available(features.GIVEN):
        return None
    frames = (frame for frame, _ in traceback.walk_stack(sys._getframe()))
    inside = next((found for frame in frames if (found := _leaves_of(frame, program)) is not None), None)
    if inside is None:
        return None
    leaves: dict[int, list[str]] = {}
    for name, leaf in inside:
        leaves.setdefault(id(leaf), []).append(name)
    for _, frame in zip(range(_MAX_FRAMES), frames, strict=False):
        call = _call_of(frame, program.jaxpr.debug_info.func_name)
        if call is not None:
            function, args, kwargs = call
            paths = list(_paths(inspect.signature(function), args, kwargs))
            names = {leaves[id(leaf)].pop(0): path for path, leaf in paths if leaves.get(id(leaf))}
            code = function.__code__
            return LibraryCall(code.co_filename, code.co_firstlineno, code.co_name, names)
    return None


def _leaves_of(frame: FrameType, program: Any) -> Sequence[tuple[str, Any]] | None:
    """Return name and value of each argument of the program, if JAX holds these in this frame; else None."""
    if frame.f_code.co_filename != pjit.__file__:
        return None
    parameters = frame.f_locals.get("p")
    if isinstance(parameters, pjit.PjitParams) and "args_flat" in frame.f_locals:
        debug_info = parameters.params["jaxpr"].jaxpr.debug_info
        if debug_info.func_src_info != program.jaxpr.debug_info.func_src_info:
            return None
        names = debug_info.arg_names or ()
        return list(zip(names, frame.f_locals["args_flat"][-len(names) :], strict=False))  # Constants come first.
    if {"jit_func", "args", "kwargs"} <= set(frame.f_code.co_varnames):  # `f.lower(x)`.
        signature = inspect.signature(frame.f_locals["jit_func"])
        return list(_paths(signature, frame.f_locals["args"], frame.f_locals["kwargs"]))
    return None


def _call_of(frame: FrameType, name: str) -> tuple[FunctionType, tuple[Any, ...], dict[str, Any]] | None:
    """Return the function `name` and its arguments, if the frame is a call of a wrapper of that function; else None."""
    code = frame.f_code
    if not code.co_argcount or not {"args", "kwargs"} <= set(code.co_varnames):
        return None  # Reading `f_locals` makes a copy, which Python keeps until the frame ends.
    values = frame.f_locals
    wrapper: Any = values.get(code.co_varnames[0])
    args, kwargs = values.get("args"), values.get("kwargs")
    if not hasattr(wrapper, "__wrapped__") or type(args) is not tuple or type(kwargs) is not dict:
        return None
    function: Any = inspect.unwrap(wrapper)
    called = getattr(function, "__name__", type(function).__name__)
    if not isinstance(function, FunctionType):  # A module that is itself called: `filter_jit(model)(x)`.
        args, function = (function, *args), type(function).__call__ if callable(function) else None
    return (function, args, kwargs) if isinstance(function, FunctionType) and called == name else None


def _paths(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the path, `model.layers[1].weight`, and the value of each array among a function's arguments."""
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return
    for name, value in given.items():
        for path, leaf in leaves_with_paths(value, _is_variable):
            own = [one for _, one in leaves_with_paths(leaf)]
            yield from ((name + jax.tree_util.keystr(path), one) for one in own)


def _is_variable(node: Any) -> bool:
    """Return whether an object is a variable of flax.nnx, which holds an array; users leave out its `.value`."""
    return any(own.__name__ == "Variable" and own.__module__.startswith("flax.") for own in type(node).__mro__)
