"""Reuse the executables from outside a capture for programs without prints, callbacks or watched values.

A capture is part of the keys of JAX's caches. So in a capture JAX finds no program that was called before, not even the
operations of `jax.numpy`, and would trace, lower and compile them again. Here, the entries outside the capture are
looked up first. A program found there runs from there, if the capture has nothing to observe in it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from jax_debug_widgets._jax.compat import features, versions
from jax_debug_widgets._jax.compat.caching import cached_fact
from jax_debug_widgets._jax.compat.private import core, dispatch, pjit
from jax_debug_widgets._jax.compat.replacements import CachedFunction, Replacements, Replacing
from jax_debug_widgets._jax.origins.context import captured_settings, capturing, is_capturing
from jax_debug_widgets._jax.origins.kernel_prints import has_debugging, has_printing_kernels
from jax_debug_widgets._jax.passes.callbacks import has_callbacks
from jax_debug_widgets._jax.passes.watch_pass import calls_users, is_jaxs
from jax_debug_widgets._jax.running.checking import may_be_checked

_left_out = threading.Event()
"""Set after a program with a `jdw.breakpoint` was traced outside of captures: the breakpoint left no equation in it."""


def leave_out_breakpoint() -> None:
    """Note that a `jdw.breakpoint` was called outside captures: it leaves no equation in the program being traced."""
    if features.available(features.UNTOUCHED) and not core.trace_state_clean():
        _left_out.set()


class ReuseHooks(Replacing):
    """Installs the hooks for reusing executables; installing is counted, so that captures may nest and overlap."""

    def __init__(self, gives_away: Callable[[], None]) -> None:
        """Make the hooks, not yet installed.

        Args:
          gives_away: called when a program with donated arguments is reused.
        """
        super().__init__()
        self._gives_away = gives_away
        self._untouched: weakref.WeakSet[Any] = weakref.WeakSet()

    def _put_in(self, replace: Replacements) -> None:
        if features.available(features.UNTOUCHED):
            replace.attribute(pjit, "_infer_params_cached", self._known, wrap=CachedFunction)
            replace.attribute(pjit, "_resolve_and_lower", self._lower)
            replace.attribute(dispatch, "xla_primitive_callable", self._operation, wrap=CachedFunction)

    def _known(self, theirs: Callable[..., Any], *signature: Any) -> Any:
        """Return JAX's cache entry for a jitted function with such arguments; JAX fills it in if it is empty."""
        if not is_capturing() or _left_out.is_set():
            return theirs(*signature)
        with capturing(None):
            known = theirs(*signature)
        is_reused = known.pjit_params is not None and self.reuse(known.pjit_params)
        return known if is_reused else theirs(*signature)

    def reuse(self, traced: Any) -> bool:
        """Let a program that JAX has cached for outside of captures run from there, if there is nothing to observe in it."""
        jaxpr = traced.params["jaxpr"].jaxpr
        settings = captured_settings()
        looks_inside = settings.watch is not None or settings.check
        is_observed = (looks_inside and _may_be_watched(jaxpr)) or may_be_checked(jaxpr, settings.check)
        if _left_out.is_set() or is_observed or not _is_free_of_host_calls(jaxpr):
            return False
        if any(traced.params["donated_invars"]):
            self._gives_away()
        self._untouched.add(traced.params["jaxpr"])
        return True

    def _lower(self, theirs: Callable[..., Any], *args: Any, jaxpr: Any, **params: Any) -> Any:
        """Lower a program, or find it in JAX's caches."""
        with capturing(None if jaxpr in self._untouched else captured_settings()):
            return theirs(*args, jaxpr=jaxpr, **params)

    def _operation(self, theirs: Callable[..., Any], primitive: Any, **params: Any) -> Any:
        """Return the jitted function of an un-jitted operation."""
        if not is_capturing() or not all(map(_is_free_of_host_calls, core.jaxprs_in_params(params))):
            return theirs(primitive, **params)
        with capturing(None):
            return theirs(primitive, **params)


@cached_fact  # A library calls few functions of JAX many times.
def _is_free_of_host_calls(jaxpr: core.Jaxpr) -> bool:
    return not (has_debugging(jaxpr) or has_callbacks(jaxpr) or has_printing_kernels(jaxpr))


def _may_be_watched(jaxpr: core.Jaxpr) -> bool:
    # In older versions, equations of JAX's own functions have the lines of the first caller, so names would be found there.
    return versions.TRACEBACKS_LEAVE_THEIR_PROGRAM or not _is_jaxs_throughout(jaxpr)


@cached_fact
def _is_jaxs_throughout(jaxpr: core.Jaxpr) -> bool:
    inside = (one for equation in jaxpr.eqns for one in core.jaxprs_in_params(equation.params))
    return is_jaxs(jaxpr) and not calls_users(jaxpr) and all(map(_is_jaxs_throughout, inside))
