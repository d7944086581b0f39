"""Describe a program in JAX's cache that differs from a new trace of its function."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import unwrap
from traceback import format_exception_only, walk_tb
from types import CodeType
from typing import Any

from jax_debug_widgets._jax.origins.frames import is_users, users_lines
from jax_debug_widgets._jax.origins.inlining import traceback_of
from jax_debug_widgets._jax.passes.program_difference import (
    UNKNOWN,
    ProgramDifference,
)


@dataclass(frozen=True)
class ChangedName:
    """An expression in the user's code whose value has changed since a trace.

    Attributes:
      code, line: where it is read.
      name: the expression, such as `self.training`.
      before, after: the values, as text; empty for functions.
      is_code: whether it is a function.
    """

    code: CodeType
    line: int
    name: str
    before: str = ""
    after: str = ""
    is_code: bool = False


@dataclass(frozen=True, eq=False)
class CachedProgram:
    """A function with a cached program that differs from a new trace; JAX runs the cached one.

    Attributes:
      function: a weak reference to the user's function.
      frames: code and line of the user's frames at the difference, innermost first.
      before, after: the number that differs, see `ProgramDifference`.
      why: why the cached program runs, if it is not known to differ.
      changed: the expressions that are known to have changed.
    """

    function: Callable[[], Any]
    frames: tuple[tuple[CodeType, int], ...]
    before: Any = UNKNOWN
    after: Any = UNKNOWN
    why: str = ""
    changed: tuple[ChangedName, ...] = ()


def differing(function: Any, found: ProgramDifference) -> CachedProgram:
    """Describe a function with two programs that differ as `found` says."""
    traceback = None if found.equation is None else traceback_of(found.equation.source_info)
    return CachedProgram(weakref.ref(function), inside(function, users_lines(traceback)), found.before, found.after)


def failing(function: Any, error: Exception) -> CachedProgram:
    lines = [(one.f_code, line) for one, line in walk_tb(error.__traceback__) if is_users(one.f_code.co_filename)]
    why = f"traced now it raises {format_exception_only(error)[0].strip()}"
    return CachedProgram(weakref.ref(function), inside(function, lines[::-1]), why=why)


def inside(function: Any, lines: Sequence[tuple[CodeType, int]]) -> tuple[tuple[CodeType, int], ...]:
    """Cut `lines`, innermost first, after the line in the traced function; keep all if that is not among them."""
    code = getattr(unwrap(function), "__code__", None)
    return tuple(lines[: next((number for number, (one, _) in enumerate(lines, 1) if one is code), len(lines))])
