"""Call observers before and after JAX looks up the program of a user's function, which may trace the function.

`pjit._infer_params` finds the program for a call of a jitted function. For loops and branches, JAX calls other
functions.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, Protocol

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.guard import quiet
from jax_debug_widgets._jax.compat.private import core, pe, pjit
from jax_debug_widgets._jax.compat.replacements import CachedFunction, Replacements, Replacing
from jax_debug_widgets._jax.origins.context import is_uncached, uncached
from jax_debug_widgets._jax.passes.program_difference import difference
from jax_debug_widgets._jax.running.cached_programs import CachedProgram, differing
from jax_debug_widgets._jax.running.retraced import traces_apart


class TraceVisitor(Protocol):
    """Observes one look-up of a program."""

    def around(self) -> Any:
        """Return a context in which JAX looks up the program."""

    def found(
        self, program: Any, operands: Sequence[Any], /, *, is_traced: bool, differs: Callable[[], CachedProgram | None]
    ) -> bool:
        """Called when the program was found.

        Args:
          program: the program.
          operands: the operands of its call; empty for the body of a loop or a branch.
          is_traced: whether the function was traced now, rather than found in a cache.
          differs: traces the function apart from JAX's caches; returns how that program differs, or None.

        Returns:
          Whether Python must see each call of the program.
        """
        ...


class TraceObserver(Protocol):
    """Observes the look-ups and traces of functions."""

    def look(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], jit: Any) -> TraceVisitor | None:
        """Called when JAX looks up a function's program.

        `jit` holds JAX's options; it is None for a body of a loop or a branch.
        """
        ...


class AroundTraces(Replacing):
    """Installs the hooks for look-ups and traces; installing is counted, so that captures may nest and overlap.

    Attributes:
      checks: the checks that need this.
      observers: the observers, called in the thread that looks up a program.
    """

    checks = frozenset({"lists", "purity", "stale"})

    def __init__(self) -> None:
        super().__init__()
        self.observers: list[TraceObserver] = []
        self._here = _Here()
        self._in_python: weakref.WeakSet[Any] = weakref.WeakSet()
        """The programs that Python must dispatch at each call."""

    def _put_in(self, replace: Replacements) -> None:
        if features.available(features.RETRACED):
            replace.attribute(pjit, "_infer_params", self._infer)
            replace.attribute(pjit, "_resolve_and_lower", self._lower)
            replace.attribute(pjit, "_get_fastpath_data", self._fast_path)
            replace.attribute(pe.DynamicJaxprTrace, "__init__", self._begin_trace)
            for module, name in traces_apart():
                replace.attribute(module, name, self._body, wrap=CachedFunction)

    def _begin_trace(self, theirs: Callable[..., None], trace: Any, *args: Any, **options: Any) -> None:
        self._here.traces += 1
        theirs(trace, *args, **options)

    def _infer(
        self, theirs: Callable[..., Any], fun: Any, ji: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        here = self._here
        looks = [] if is_uncached() else self._looks(fun, args, kwargs, ji)
        if not looks:
            return theirs(fun, ji, args, kwargs)
        before = here.traces
        with ExitStack() as stack:
            for look in looks:
                stack.enter_context(look.around())
            inferred = theirs(fun, ji, args, kwargs)
        program, is_traced = inferred[0].params["jaxpr"], here.traces > before
        again = partial(self._differs, fun, program, lambda: theirs(fun, ji, args, kwargs)[0].params["jaxpr"])
        for look in looks:
            tell = quiet(look.found, self._report_failure)
            if tell(program, inferred[1], is_traced=is_traced, differs=again):
                self._in_python.add(program)
        return inferred

    def _looks(self, *asked: Any) -> list[TraceVisitor]:
        looks = [quiet(one.look, self._report_failure)(*asked) for one in self.observers]
        return [one for one in looks if one is not None]

    def _differs(self, fun: Any, program: Any, trace: Callable[[], Any]) -> CachedProgram | None:
        try:
            with uncached():
                found = difference(program, trace())
        except Exception:  # noqa: BLE001 - a function that cannot be traced any more is not known to differ.
            return None
        return found and differing(fun, found)

    def _body(self, theirs: Callable[..., Any], function: Any, *signature: Any, **options: Any) -> Any:
        here = self._here
        is_jitted = any(isinstance(one, core.DebugInfo) and one.traced_for in ("jit", "pjit") for one in signature)
        looks = [] if is_jitted or is_uncached() or not callable(function) else self._looks(function, (), {}, None)
        if not looks:
            return theirs(function, *signature, **options)
        before = here.traces
        with ExitStack() as stack:
            for look in looks:
                stack.enter_context(look.around())
            traced = theirs(function, *signature, **options)
        for look in looks:
            tell = quiet(look.found, self._report_failure)
            tell(traced[0], (), is_traced=here.traces > before, differs=lambda: None)
        return traced

    def _lower(self, theirs: Callable[..., Any], *args: Any, jaxpr: Any, **params: Any) -> Any:
        lowered = theirs(*args, jaxpr=jaxpr, **params)
        self._here.needs_python = jaxpr in self._in_python
        return lowered

    def _fast_path(self, theirs: Callable[..., Any], *args: Any, **options: Any) -> Any:
        data = theirs(*args, **options)
        return None if self._here.needs_python else data


class _Here(threading.local):
    """The state of the current thread.

    Attributes:
      traces: how many traces it has begun.
      needs_python: whether Python must see each call of the program that was dispatched last.
    """

    traces = 0
    needs_python = False
