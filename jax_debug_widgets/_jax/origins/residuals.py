"""Mark the equations that the rule of a derivative computes beside the value: its residuals.

They have the traceback object of the differentiated operation, and may have its primitive: for `x ** 3`, the rule
computes `x ** 2`, too. If JAX drops the value, only the residual is left, and looks like the value. A mark in the name
stack identifies it. The mark shows in no text, and stays in all equations that JAX makes from this one.
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
    """Mark the equations that a rule has made, except those that compute `values`."""
    for equation in made:
        if not (is_residual(equation) or any(one in values for one in equation.outvars)):
            info = equation.source_info
            with suppress(AttributeError):  # Some versions of JAX have immutable equations.
                equation.source_info = info.replace(name_stack=marked(info.name_stack))


def marked(stack: source_info_util.NameStack) -> source_info_util.NameStack:
    """Return a name stack with the mark."""
    return stack + source_info_util.NameStack((_MARK,))


def marked_as_copy(stack: source_info_util.NameStack) -> source_info_util.NameStack:
    """Return a name stack with the mark, and with that of our copies."""
    return stack + source_info_util.NameStack((_MARK, _COPY))


def is_marked_copy(equation: Any) -> bool:
    """Return whether an equation is a copy of ours, or was made from one."""
    return _COPY in equation.source_info.name_stack.stack


def is_residual(equation: Any) -> bool:
    """Return whether an equation was marked, or was made from a marked one."""
    return _is_marked(equation.source_info.name_stack.stack)


def is_residual_now() -> bool:
    """Return whether JAX currently makes equations from a marked one."""
    return _is_marked(source_info_util.current_name_stack().stack)


def _is_marked(stack: Iterable[Any]) -> bool:
    # Not `in`, because comparing the parts of all stacks takes long; a generator takes longer, too.
    for one in stack:  # noqa: SIM110
        if one is _MARK:
            return True
    return False
