"""Find the program that the current thread runs, as the object that JAX traced, not by its name."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.private import pjit
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing

Ran = Callable[[], Any]
"""A weak reference to a program: returns None if the program is gone or unknown."""


def unknown() -> None:
    """Return None, for an unknown program."""


class RunningPrograms(Replacing):
    """Notes the program of each call that JAX makes in Python; calls by its C++ are not seen.

    Attributes:
      subscriber: called with each program, in the thread that runs it, but not for programs run inside another one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.subscriber: Callable[[Any], object] = lambda _program: None
        self._here = _Here()

    def _put_in(self, replace: Replacements) -> None:
        if features.available(features.CALL_PROGRAMS):
            replace.attribute(pjit, "_pjit_call_impl_python", self._call)

    @property
    def running(self) -> Ran:
        """Return the innermost program that this thread runs."""
        program = self._here.program
        return unknown if program is None else weakref.ref(program)

    def _call(self, theirs: Callable[..., Any], *args: Any, jaxpr: Any, **params: Any) -> Any:
        here, outer = self._here, self._here.program
        if outer is None:
            self.subscriber(jaxpr)
        here.program = jaxpr
        try:
            return theirs(*args, jaxpr=jaxpr, **params)
        finally:
            here.program = outer


class _Here(threading.local):
    program: Any = None


def may_have_run(function: Any, program: Any) -> bool:
    """Return whether a call of a jitted function that C++ has dispatched was a call of this program.

    It was if JAX's C++ has only one program of the function.
    """
    count = getattr(function, "_cache_size", None)
    return count is not None and not program.effects and count() == 1
