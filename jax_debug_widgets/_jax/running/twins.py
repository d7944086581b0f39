"""Run a watched twin (a second copy) beside the user's program: the twin returns the watched values, the program its results.

The twin runs first, with the same arguments. It donates none of them, because the program's call needs them, and it is
compiled without prints. Its results and its errors are dropped. A program with other effects (it calls the host for a
result, or writes to a reference) has no twin, because the effects would happen twice.
"""

from __future__ import annotations

import inspect
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import jax

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.names import function_of
from jax_debug_widgets._jax.compat.private import callback as jax_callback
from jax_debug_widgets._jax.compat.private import core, debugging, pjit
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing
from jax_debug_widgets._jax.origins.context import calling_for_us, captured_settings, is_captured_alone
from jax_debug_widgets._jax.origins.frames import is_users
from jax_debug_widgets._jax.passes.program import has

_TRACES_ONLY = "jit_trace"
"""JAX's function with which `.trace` and `.lower` look up a program without calling it."""


class TwinHooks(Replacing):
    """Calls the twins of functions in captures with `twin` in their settings; installing is counted."""

    def __init__(self, on: Callable[[Any], AbstractContextManager[None]], note: Callable[[str], object]) -> None:
        """Make the hooks, not yet installed.

        Args:
          on: returns a context in which the current thread captures with other settings.
          note: called with notes for the user.
        """
        super().__init__()
        self._on, self._note = on, note
        self._here = threading.local()
        self._calls: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def _put_in(self, replace: Replacements) -> None:
        if features.available(features.TWINS):
            replace.attribute(pjit, "_infer_params", self._infer)
            replace.attribute(pjit, "_get_fastpath_data", _fast_path)

    def _infer(self, theirs: Callable[..., Any], fun: Any, ji: Any, args: Any, kwargs: Any) -> Any:
        twin = getattr(captured_settings(), "twin", None)
        if twin is None or getattr(self._here, "is_busy", False):
            return theirs(fun, ji, args, kwargs)
        self._here.is_busy = True
        try:
            inferred = theirs(fun, ji, args, kwargs)
            if not core.trace_state_clean():
                self._note_about(
                    fun,
                    "is not watched where an un-jitted transformation or loop calls it: with exact=True jit the function "
                    "around it, as in jax.jit(jax.grad(f)).",
                )
            elif _is_called():
                self._beside(fun, ji, args, kwargs, inferred[0].params["jaxpr"].jaxpr, twin)
            return inferred
        finally:
            self._here.is_busy = False

    def _beside(self, fun: Any, ji: Any, args: Any, kwargs: Any, program: Any, twin: Any) -> None:
        if why := _why_alone(program):
            self._note_about(fun, f"is not watched: {why}, and with exact=True it would do so twice.")
            return
        count = self._calls.get(fun, 0)
        self._calls[fun] = count + 1
        if count % twin.every:
            return
        try:
            self._here.is_in_twin = True
            watched = jax.jit(
                fun, static_argnums=ji.static_argnums, static_argnames=ji.static_argnames, keep_unused=ji.keep_unused
            )
            with self._on(twin), calling_for_us():
                watched(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - the program itself runs next, and raises its own errors.
            self._note_about(fun, f"was not watched in a call: its watched twin raised {type(error).__name__}: {error}")
        finally:
            self._here.is_in_twin = False

    def _note_about(self, fun: Any, what: str) -> None:
        """Report a note about a user function. Functions of JAX or of this package are not reported."""
        code = getattr(inspect.unwrap(fun), "__code__", None)
        if code is None or is_users(code.co_filename):
            self._note(f"`{_name_of(fun)}` {what}")

    def restart(self) -> None:
        """Restart the counts of calls: the next call of each function is the first."""
        self._calls.clear()

    def named(self, name: str) -> str:
        """Return the name to show for a program that this thread dispatches; a twin's name marks it as a twin."""
        return f"{function_of(name)}, watched twin" if getattr(self._here, "is_in_twin", False) else name


def _is_called() -> bool:
    """Return whether JAX is about to run the program that it looks up."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename != pjit.__file__:
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name != _TRACES_ONLY


def _name_of(fun: Any) -> str:
    return getattr(fun, "__name__", str(fun))


def _why_alone(program: Any) -> str:
    """Return why a program may not run twice; empty if it may."""
    if is_captured_alone():
        return "other processes run it without a capture"
    if has(program, (jax_callback.io_callback_p, jax_callback.pure_callback_p)):
        return "it calls the host for a result"
    others = program.effects - {debugging.debug_effect, debugging.ordered_debug_effect}
    return f"it does something besides giving results ({', '.join(sorted(map(str, others)))})" if others else ""


def _fast_path(theirs: Callable[..., Any], *args: Any) -> Any:
    """Return JAX's data for the C++ dispatch of a program; None if a twin is to run, because C++ would not call us."""
    return None if getattr(captured_settings(), "twin", None) is not None else theirs(*args)
