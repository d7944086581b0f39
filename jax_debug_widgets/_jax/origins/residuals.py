"""Mark the equations that the rule of a derivative computes beside the value: its residuals.

They have the traceback object of the operation that is differentiated, and may have its primitive: for `x ** 3`, the rule
computes `x ** 2`, too. If JAX drops the value, only the residual is left, and looks like the value. A mark in the name stack
identifies it; the mark shows in no text, and stays in all equations that JAX makes from this one.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from jax_debug_widgets._jax.compat.private import source_info_util


@dataclass(frozen=True)
class _Residual:
    """A part of a name stack that marks a residual."""

    def wrap(self, stack: list[str]) -> None:
        """Add nothing to the text of the name stack."""


@dataclass(frozen=True)
class _Copy(_Residual):
    """A part of a name stack that marks a copy of ours."""


_MARK: Any = _Residual()
_COPY: Any = _Copy()


def mark_residuals(made: Iterable[Any], values: Container[Any]) -> None:
    """Mark the equations that a rule has made, but for those that make these variables."""
    for equation in made:
        if not (is_residual(equation) or any(one in values for one in equation.outvars)):
            info = equation.source_info
            with suppress(AttributeError):  # Where a version of JAX has made it immutable.
                equation.source_info = info.replace(name_stack=marked(info.name_stack))


def marked(stack: source_info_util.NameStack) -> source_info_util.NameStack:
    """A name stack with the mark."""
    return stack + source_info_util.NameStack((_MARK,))


def marked_as_copy(stack: source_info_util.NameStack) -> source_info_util.NameStack:
    """A name stack with the mark, and with that of our copies."""
    return stack + source_info_util.NameStack((_MARK, _COPY))


def is_marked_copy(equation: Any) -> bool:
    """Whether an equation is a copy of ours, if it is one, or JAX has made it of one."""
    return _COPY in equation.source_info.name_stack.stack


def is_residual(equation: Any) -> bool:
    """Whether an equation was marked, or JAX has made it of one that was."""
    return _is_marked(equation.source_info.name_stack.stack)


def is_residual_now() -> bool:
    """Whether JAX makes equations of one that was marked."""
    return _is_marked(source_info_util.current_name_stack().stack)


def _is_marked(stack: Iterable[Any]) -> bool:
    return any(one is _MARK for one in stack)  # Not by `in`: to compare the parts of all stacks takes long.
