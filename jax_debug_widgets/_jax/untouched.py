"""Programs that say nothing run in a capture as they do outside it: not traced, lowered and compiled once more.

A capture is part of the keys of JAX's caches. So in one JAX finds nothing of what was called before, not even the
operations of `jax.numpy`. Here it looks outside first: what it has traced there, and what neither says nor is asked for
anything, it runs from there.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any

from jax._src import core, dispatch, pjit, traceback_util

from jax_debug_widgets._jax import features, versions
from jax_debug_widgets._jax.callbacks import has_callbacks
from jax_debug_widgets._jax.context import captured_settings, capturing, is_capturing
from jax_debug_widgets._jax.kernel_prints import has_printing_kernels
from jax_debug_widgets._jax.replacements import Replacements, Replacing
from jax_debug_widgets._jax.tap import has_debugging
from jax_debug_widgets._jax.watching import is_jaxs

traceback_util.register_exclusion(__file__)  # What a traced function raises goes up through here.

_left_out = threading.Event()
"""Whether a program was traced that would have had a breakpoint of ours in a capture."""


def leave_out_breakpoint() -> None:
    """A `jdw.breakpoint` is called outside any capture: of a program that is traced just now it leaves nothing to be seen."""
    if not core.trace_state_clean():
        _left_out.set()


class _NotTracedError(Exception):
    """JAX would have to trace it."""


class UntouchedHooks(Replacing):
    """Install and remove, counted, so that captures may nest and overlap."""

    def __init__(self) -> None:
        super().__init__()
        self._here = threading.local()
        self._untouched: weakref.WeakSet[Any] = weakref.WeakSet()

    def _put_in(self, replace: Replacements) -> None:
        if features.available(features.UNTOUCHED):
            replace.attribute(pjit, "_infer_params", self._infer)
            replace.attribute(pjit, versions.TRACE_FOR_JIT, self._trace)
            replace.attribute(pjit, "_pjit_call_impl_python", self._call)
            # It is a cache, with methods.
            replace.attribute(dispatch, "xla_primitive_callable", self._operation, wrap=_with_methods)

    def _infer(self, theirs: Callable[..., Any], *args: Any) -> Any:
        """Trace a function, or find what is known of it: of a jitted one all that a call needs to go on."""
        known = self._known_outside(theirs, *args)
        return theirs(*args) if known is None else known

    def _known_outside(self, theirs: Callable[..., Any], *args: Any) -> Any | None:
        if not is_capturing() or _left_out.is_set():
            return None
        watches = captured_settings().watch is not None
        try:
            with capturing(None), self._looking():
                found = theirs(*args)
        except _NotTracedError:
            return None
        program = found[0].params["jaxpr"]
        if not _says_nothing(program.jaxpr) or (watches and not _is_jaxs_throughout(program.jaxpr)):
            return None
        self._untouched.add(program)
        return found

    @contextmanager
    def _looking(self) -> Iterator[None]:
        self._here.looks = True
        try:
            yield
        finally:
            self._here.looks = False

    def _trace(self, theirs: Callable[..., Any], *args: Any, **options: Any) -> Any:
        if getattr(self._here, "looks", False):
            raise _NotTracedError
        return theirs(*args, **options)

    def _call(self, theirs: Callable[..., Any], *args: Any, jaxpr: Any, **params: Any) -> Any:
        """Run a program, which may have to be lowered and compiled."""
        with capturing(None if jaxpr in self._untouched else captured_settings()):
            return theirs(*args, jaxpr=jaxpr, **params)

    def _operation(self, theirs: Callable[..., Any], primitive: Any, **params: Any) -> Any:
        """The jitted function of an un-jitted operation."""
        if any(not _says_nothing(one) for one in core.jaxprs_in_params(params)):
            return theirs(primitive, **params)
        with capturing(None):
            return theirs(primitive, **params)


def _with_methods(ours: Callable[..., Any], theirs: Any) -> Any:
    return wraps(theirs)(partial(ours, theirs))


def _says_nothing(jaxpr: core.Jaxpr) -> bool:
    return not (has_debugging(jaxpr) or has_callbacks(jaxpr) or has_printing_kernels(jaxpr))


def _is_jaxs_throughout(jaxpr: core.Jaxpr) -> bool:
    inside = (one for equation in jaxpr.eqns for one in core.jaxprs_in_params(equation.params))
    return is_jaxs(jaxpr) and all(map(_is_jaxs_throughout, inside))
