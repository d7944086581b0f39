"""Call observers before and after JAX looks up the program of a user's function, which may trace the function.

`pjit._infer_params` finds the program for a call of a jitted function. For loops and branches, JAX calls other
functions.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from functools import partial
from typing import Any, Protocol

import jax
import numpy as np

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.guard import quiet
from jax_debug_widgets._jax.compat.private import core, pe, pjit
from jax_debug_widgets._jax.compat.replacements import CachedFunction, Replacements, Replacing
from jax_debug_widgets._jax.origins.context import is_uncached, uncached
from jax_debug_widgets._jax.passes.program_difference import difference
from jax_debug_widgets._jax.running.cached_programs import CachedProgram, differing
from jax_debug_widgets._jax.running.further_results import observed_data
from jax_debug_widgets._jax.running.retraced import traces_apart

Differs = Callable[[AbstractSet[int]], CachedProgram | None]


class LaterCall:
    """A call of a program that JAX's C++ has dispatched. It keeps no function and no array alive.

    Attributes:
      kwargs: the keyword arguments, with types for arrays.
      jit: JAX's options.
    """

    def __init__(self, program: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], jit: Any) -> None:
        self._program, self._function = weakref.ref(program), weakref.ref(function)
        self.args = tuple(map(_types_of, args))
        self.kwargs = {name: _types_of(one) for name, one in kwargs.items()}
        self.jit = jit

    @property
    def function(self) -> Any:
        """The function; None if it does not exist any more."""
        return self._function()

    def differs(self, changed: AbstractSet[int]) -> CachedProgram | None:
        """Trace the function apart from JAX's caches; return how that program differs, or None.

        For `changed` see `difference`.
        """
        function, program = self._function(), self._program()
        if function is None or program is None:
            return None
        call = function, self.jit, self.args, self.kwargs
        return _differs(function, program, lambda: pjit._infer_params(*call)[0].params["jaxpr"], changed)


SeesCalls = Callable[[LaterCall], object]
"""Called after each call that C++ has dispatched. It keeps no function of the user alive."""


class TraceVisitor(Protocol):
    """Observes one look-up of a program."""

    def around(self) -> Any:
        """Return a context in which JAX looks up the program."""

    def found(self, program: Any, operands: Sequence[Any], /, *, is_traced: bool, differs: Differs) -> SeesCalls | None:
        """Called when the program was found.

        Args:
          program: the program.
          operands: the operands of its call; empty for the body of a loop or a branch.
          is_traced: whether the function was traced now, rather than found in a cache.
          differs: traces the function apart from JAX's caches; returns how that program differs, or None. It takes the
            `changed` of `difference`.

        Returns:
          The function that must be called after each later call of the program; None for none.
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
        self._seen: weakref.WeakSet[Any] = weakref.WeakSet()
        """The programs with calls that must be seen."""

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

        def again(changed: AbstractSet[int]) -> CachedProgram | None:
            return _differs(fun, program, lambda: theirs(fun, ji, args, kwargs)[0].params["jaxpr"], changed)

        finders = [quiet(look.found, self._report_failure) for look in looks]
        found = [find(program, inferred[1], is_traced=is_traced, differs=again) for find in finders]
        if sees := [one for one in found if one is not None]:
            self._seen.add(program)
            later = quiet(LaterCall, self._report_failure)(program, fun, args, kwargs, ji)
            callbacks = [partial(quiet(one, self._report_failure), later) for one in sees]
            here.latest = weakref.ref(program), None if later is None else lambda: [call() for call in callbacks]
        return inferred

    def _looks(self, *asked: Any) -> list[TraceVisitor]:
        looks = [quiet(one.look, self._report_failure)(*asked) for one in self.observers]
        return [one for one in looks if one is not None]

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
            find = quiet(look.found, self._report_failure)
            find(traced[0], (), is_traced=here.traces > before, differs=lambda _: None)
        return traced

    def _lower(self, theirs: Callable[..., Any], *args: Any, jaxpr: Any, **params: Any) -> Any:
        here = self._here
        program, sees = here.latest
        lowered = theirs(*args, jaxpr=jaxpr, **params)
        here.must_be_seen, here.sees = jaxpr in self._seen, sees if program() is jaxpr else None
        return lowered

    def _fast_path(self, theirs: Callable[..., Any], executable: Any, *others: Any) -> Any:
        here = self._here
        if not here.must_be_seen:
            return theirs(executable, *others)
        if here.sees is not None and features.available(features.HANDOVER):
            return observed_data(theirs, executable, here.sees, *others)
        theirs(executable, *others)
        return None  # Python dispatches each call.


def _types_of(argument: Any) -> Any:
    """Return an argument with types instead of its arrays; an argument without arrays, such as a static one, as it is."""
    leaves, tree = jax.tree.flatten(argument)
    are_arrays = [isinstance(one, jax.Array | np.ndarray) for one in leaves]
    if not any(are_arrays):
        return argument
    types = [jax.typeof(one) if is_array else one for one, is_array in zip(leaves, are_arrays, strict=True)]
    return jax.tree.unflatten(tree, types)


def _differs(function: Any, program: Any, trace: Callable[[], Any], changed: AbstractSet[int]) -> CachedProgram | None:
    try:
        with uncached():
            found = difference(program, trace(), changed)
    except Exception:  # noqa: BLE001 - a function that cannot be traced any more is not known to differ.
        return None
    return found and differing(function, found)


class _Here(threading.local):
    """The state of the current thread.

    Attributes:
      traces: the number of traces that the thread has begun.
      latest: the program looked up last, and the function that must see its later calls.
      must_be_seen: whether the later calls of the program that Python dispatched last must be seen.
      sees: the function that must see them; None if it is not known.
    """

    traces = 0
    latest: tuple[Callable[[], Any], Callable[[], object] | None] = (lambda: None), None
    must_be_seen = False
    sees: Callable[[], object] | None = None
