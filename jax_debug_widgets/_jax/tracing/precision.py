"""Find where 64-bit numbers become 32-bit ones because `jax_enable_x64` is off, and what is lost (S12).

JAX warns only of an explicit request for 64 bits, never of values. Findings are about values that the user's own line
passes to JAX, because JAX has 64-bit constants of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any

import jax
import numpy as np

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.private import api, core, dtypes, lax, pjit
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing
from jax_debug_widgets._jax.origins.frames import Frame, frame_at, is_ours, is_users
from jax_debug_widgets._jax.origins.libraries import is_installed, is_library
from jax_debug_widgets._jax.tracing.argument_types import positional_names
from jax_debug_widgets._jax.tracing.filter_jit import FilteredCall, described_filtered

USED = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}
"""Maps each 64-bit dtype to the dtype that JAX uses instead."""

_MOST_NUMBERS = 1 << 22
"""The most elements of an array that is searched for numbers that the conversion changes."""


def _taking() -> tuple[tuple[Any, str], ...]:
    """Return the functions by which the installed JAX converts NumPy arrays: module and name of each."""
    return (
        (lax, "_convert_element_type"),
        (api, "device_put"),
        (dtypes, "canonicalize_value"),
        (core, "canonicalize_value"),
    )


_INFINITE_FROM = 2.0**128 - 2.0**103
"""The least number that becomes infinite as float32. Smaller ones are rounded down to the largest float32."""

_MOST_CALLERS = 8

_MOST_FRAMES = 4
"""The most frames of JAX, from the user's line on, that are searched for the value that the line passed."""


@dataclass(frozen=True)
class Truncated:
    """A conversion of 64-bit numbers to 32 bits.

    Attributes:
      dtype: the 64-bit dtype; `asked`: whether the code asked for this dtype, rather than passed an array of it.
      name: the argument that was converted, `params['w']`, or the variable; empty if it is neither.
      size: the number of elements; `wrapped`, `infinite`: how many of them wrapped around or became infinite.
      first, became: the first such number, and its value after the conversion.
      error: the largest relative error of the others.
    """

    dtype: str
    asked: bool = False
    name: str = ""
    size: int = 0
    wrapped: int = 0
    infinite: int = 0
    first: str = ""
    became: str = ""
    error: float = 0.0


class PrecisionHooks(Replacing):
    """Installs the hooks, counted, so that captures may nest and overlap."""

    def __init__(self, wanted: Callable[[], bool], found: Callable[[tuple[Frame, ...], Truncated], object]) -> None:
        """Make the hooks, not yet installed.

        Args:
          wanted: returns whether the current thread's capture needs the hooks.
          found: takes the user's lines, innermost first, and the conversion.
        """
        super().__init__()
        self._wanted, self._found = wanted, found

    def _put_in(self, replace: Replacements) -> None:
        if features.available(features.PRECISION):
            replace.attribute(dtypes, "_maybe_canonicalize_explicit_dtype", self._asked)
            for module, name in _taking():
                if hasattr(module, name):
                    replace.attribute(module, name, partial(self._converted, name))
            replace.attribute(pjit, "_infer_params", self._called)

    def _is_on(self) -> bool:
        return self._wanted() and not jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]

    def _asked(self, theirs: Any, dtype: Any, *args: Any, **options: Any) -> Any:
        given = theirs(dtype, *args, **options)
        if self._is_on() and str(dtype) in USED and str(given) != str(dtype) and (users := _users_frames()):
            self._found(_frames_of(users[0]), Truncated(str(dtype), asked=True))
        return given

    def _converted(self, name: str, theirs: Any, operand: Any, *args: Any, **options: Any) -> Any:
        if _has_64_bits(operand) and self._is_on():
            users = _users_frames()
            if users and any(_gives(frame, operand) for frame in users[1:]) and _is_of_users(users[0], operand):
                self._arrived(users[0], operand, "")
        elif _may_be_infinite(operand, name) and self._is_on():
            users = _users_frames()
            large = next(filter(None, map(_too_large, users[1:])), [])
            if large:
                lost = Truncated("float64", size=len(large), infinite=len(large), first=f"{large[0]}", became="inf")
                self._found(_frames_of(users[0]), lost)
        return theirs(operand, *args, **options)

    def _called(self, theirs: Any, fun: Any, ji: Any, args: Any, kwargs: Any) -> Any:
        if self._is_on():
            call = None
            for path, leaf in jax.tree_util.tree_flatten_with_path((args, kwargs))[0]:
                if _has_64_bits(leaf) and (users := _users_frames()):
                    call = call or described_filtered(fun, args) or FilteredCall(fun)
                    file = getattr(getattr(call.function, "__code__", None), "co_filename", "")
                    is_own = is_users(file)
                    is_passed = is_own or any(_gives(frame, leaf) for frame in users[1:])
                    if is_passed and (not is_library(file) or _is_of_users(users[0], leaf)):
                        name = call.names.get(id(leaf)) or _argument(fun, path)
                        self._arrived(users[0], leaf, name if is_own else "")
        return theirs(fun, ji, args, kwargs)

    def _arrived(self, frame: FrameType, value: Any, name: str) -> None:
        lost = truncated(np.asarray(value), name or _name_in(frame, value))
        # A NumPy scalar beside arrays is like a Python number, which JAX takes in the precision of the arrays.
        if lost.wrapped or lost.infinite or (lost.error and value.ndim):
            self._found(_frames_of(frame), lost)


def truncated(array: np.ndarray, name: str = "") -> Truncated:
    """Describe what a 64-bit array loses when it is converted to 32 bits."""
    dtype, size = str(array.dtype), array.size
    if not 0 < size <= _MOST_NUMBERS:
        return Truncated(dtype, name=name, size=size)
    with np.errstate(all="ignore"):
        small = array.astype(USED[dtype])
        back = small.astype(array.dtype)
        if array.dtype.kind in "iu":
            odd = back != array
            first, became = _first(array, odd), _first(small, odd)
            return Truncated(dtype, name=name, size=size, wrapped=int(odd.sum()), first=first, became=became)
        odd = np.isfinite(array) & ~np.isfinite(small)
        if odd.any():
            first, became = _first(array, odd), _first(small, odd)
            return Truncated(dtype, name=name, size=size, infinite=int(odd.sum()), first=first, became=became)
        relative = np.abs(back - array) / np.where(array == 0, 1, np.abs(array))
        error = float(np.nanmax(np.where(np.isfinite(relative), relative, 0)))
    return Truncated(dtype, name=name, size=size, error=error)


def _first(array: np.ndarray, odd: np.ndarray) -> str:
    return f"{array[odd].flat[0]}" if odd.any() else ""


def _has_64_bits(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic) and str(value.dtype) in USED


def _may_be_infinite(value: Any, by: str) -> bool:
    """Whether a value is a Python number that becomes infinite as float32, or a float32 array with infinities."""
    if type(value) is float:
        return by == "canonicalize_value" and _INFINITE_FROM <= abs(value) < float("inf")
    if type(value) is not np.ndarray or by != "_convert_element_type":
        return False
    return value.dtype == np.float32 and value.size <= _MOST_NUMBERS and bool(np.isinf(value).any())


def _too_large(frame: FrameType) -> list[float]:
    """Return the Python numbers among a function's arguments that become infinite as float32."""
    leaves = (leaf for argument in _arguments(frame) for leaf in _leaves(argument))
    return [leaf for leaf in leaves if isinstance(leaf, float) and _INFINITE_FROM <= abs(leaf) < float("inf")]


def _users_frames() -> list[FrameType]:
    """Return the innermost user frame, and the first frames of JAX that it called."""
    frame: FrameType | None = sys._getframe(1)
    inside: list[FrameType] = []
    while frame is not None and not is_users(frame.f_code.co_filename):
        if not is_ours(frame.f_code.co_filename):
            inside.append(frame)
        frame = frame.f_back
    return [] if frame is None else [frame, *inside[::-1][:_MOST_FRAMES]]


def _frames_of(frame: FrameType | None) -> tuple[Frame, ...]:
    """Return the user frames from `frame` outwards, innermost first. The inner ones may be a library's."""
    found: list[Frame] = []
    while frame is not None and len(found) < _MOST_CALLERS:
        if is_users(frame.f_code.co_filename):
            found.append(frame_at(frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(found)


def _gives(frame: FrameType, value: Any) -> bool:
    """Whether an argument of a frame is, or contains, this value or an array of the same 64-bit dtype and shape."""
    return any(
        one is value or (_has_64_bits(one) and one.dtype == value.dtype and one.shape == value.shape)
        for argument in _arguments(frame)
        for one in _leaves(argument)
    )


def _name_in(frame: FrameType, value: Any) -> str:
    """Return the name, or the attribute of a named object, by which a function knows a value; empty if it has none."""
    named = frame.f_code.co_names
    variables = {**{name: frame.f_globals[name] for name in named if name in frame.f_globals}, **frame.f_locals}
    found = next((name for name, one in variables.items() if one is value), "")
    attributes = (
        f"{name}.{attribute}"
        for name, one in variables.items()
        for attribute in named
        if (getattr(one, "__dict__", None) or {}).get(attribute) is value
    )
    return found or next(attributes, "")


def _is_of_users(innermost: FrameType, value: Any) -> bool:
    """Whether the user's own code passes a value, directly or through functions of libraries.

    A library has 64-bit constants of its own, which the user cannot change.
    """
    frame: FrameType | None = innermost
    while frame is not None:
        file = frame.f_code.co_filename
        if is_users(file) and not is_library(file):
            return True
        if is_users(file) and is_installed(file) and not _gives(frame, value):
            return False
        frame = frame.f_back
    return True


def _arguments(frame: FrameType) -> Iterator[Any]:
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    names = frame.f_locals
    yield from (names[name] for name in code.co_varnames[:count] if name in names)


def _leaves(argument: Any) -> Iterator[Any]:
    if isinstance(argument, tuple | list):
        for one in argument:
            yield from _leaves(one)
    elif isinstance(argument, dict):
        for one in argument.values():
            yield from _leaves(one)
    else:
        yield argument


def _argument(fun: Any, path: Any) -> str:
    """Return the text of an argument, or of a part of it, as the user writes it: `params['w']`, `args[2]`."""
    of_keywords, first, *rest = path
    tail = jax.tree_util.keystr(tuple(rest))
    if of_keywords.idx:
        return f"{first.key}{tail}"
    return f"{positional_names(fun).get(first.idx, f'args[{first.idx}]')}{tail}"
