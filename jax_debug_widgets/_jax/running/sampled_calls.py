"""Run the watched program in each n-th call of a function, and the plain program in the other calls.

A program that chose for itself would need a switch: its branches keep all values of the program, and a GPU asks the host which
branch to take. Here Python chooses before it dispatches a call, and JAX keeps both programs, because each has settings of its
own. A program with a long loop samples the iterations of the loop instead.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.private import pjit
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing
from jax_debug_widgets._jax.origins.context import captured_settings, capturing
from jax_debug_widgets._jax.origins.equation import Recorders
from jax_debug_widgets._jax.passes import sampling
from jax_debug_widgets._jax.passes.watch_pass import is_jaxs
from jax_debug_widgets._jax.running.dispatch import recorders_of
from jax_debug_widgets._jax.running.further_results import wrap_calls
from jax_debug_widgets._jax.running.handover import CallObserver, Unobserved
from jax_debug_widgets._jax.running.may_hand_over import must_call


class SampledSettings(Protocol):
    """The settings of a capture, as far as sampled calls need them.

    Attributes:
      every: one of `every` calls is watched.
      of_calls: the settings for the calls that are not watched, and for those that are; None if all calls are watched.
    """

    every: int
    of_calls: tuple[Any, Any] | None


class _Function:
    """The calls of one traced program.

    Attributes:
      takes: returns whether the next call is watched, and counts it.
      is_sampled: whether its calls run two programs.
      watched: the recorders of its watched program; None before the first call.
    """

    def __init__(self, takes: Callable[[int], bool], *, is_sampled: bool) -> None:
        self.takes, self.is_sampled = takes, is_sampled
        self.watched: Recorders | None = None


class SampledCalls(Replacing):
    """Installs the hooks; installing is counted, so that captures may nest and overlap.

    Attributes:
      watch: reports the calls of plain programs without effects, see `dispatch.DispatchWatch`.
    """

    def __init__(self, counter: Callable[[], Callable[[int], bool]]) -> None:
        """Make the hooks, not yet installed.

        Args:
          counter: makes a counter of calls; it takes n, and returns whether the next call is one of each n.
        """
        super().__init__()
        self._counter = counter
        self._functions: weakref.WeakKeyDictionary[Any, dict[Any, _Function]] = weakref.WeakKeyDictionary()
        self._here = _Here()
        self.watch: CallObserver = Unobserved()

    def _put_in(self, replace: Replacements) -> None:
        if features.available(features.HANDOVER):
            replace.attribute(pjit, "_pjit_call_impl_python", self._call)
            replace.attribute(pjit, "_resolve_and_lower", self._lower)
            replace.attribute(pjit, "_get_fastpath_data", self._fast_path, retries=True)

    def _call(self, theirs: Any, *args: Any, jaxpr: Any, **params: Any) -> Any:
        settings: SampledSettings | None = captured_settings()
        call = partial(theirs, *args, jaxpr=jaxpr, **params)
        function = None if settings is None else self._function(settings, jaxpr)
        if settings is None or settings.of_calls is None or function is None:
            with self._lowering(None):
                ran = call()
        else:
            is_taken = function.takes(settings.every)
            with self._lowering(None if is_taken else function), capturing(settings.of_calls[is_taken]):
                ran = call()
            if function.watched is None:
                function.watched = _recorders_of(ran[1].unsafe_call)
                function.is_sampled = function.watched is not None
        self._here.is_sampled = function is not None and function.is_sampled
        return ran

    @contextmanager
    def _lowering(self, left_out: _Function | None) -> Iterator[None]:
        """Note whose plain program this thread may lower inside. A callback may call other functions there."""
        before, self._here.left_out = self._here.left_out, left_out
        try:
            yield
        finally:
            self._here.left_out = before

    def _function(self, settings: SampledSettings, program: Any) -> _Function | None:
        """Return the calls of a program; None if all of its calls run one program."""
        if settings.of_calls is None or must_call() or is_jaxs(program.jaxpr):
            return None
        known = self._functions.setdefault(program, {})
        if settings not in known:
            is_sampled = not sampling.has_long_loop(program.jaxpr, settings.every)
            known[settings] = _Function(self._counter(), is_sampled=is_sampled)
        return known[settings] if known[settings].is_sampled else None

    def _lower(self, theirs: Any, *args: Any, **params: Any) -> Any:
        computation = theirs(*args, **params)
        function = self._here.left_out
        if function is not None and function.watched is not None:
            # JAX compiles it next, and keeps the executable.
            wrap_calls(computation.compile(), partial(self._observed, function.watched), SampledCalls)
        return computation

    def _observed(self, watched: Recorders, call: Any) -> Any:
        """Return what runs a plain program, from JAX's `call`: its calls are executions of the watched sites, too."""
        own = _recorders_of(call)
        recorders = Recorders((), fire_elsewhere=False, are_results=True) if own is None else own
        recorders.taps.left_out = tuple(tap for tap in watched.taps if tap.site.watch)
        return _Reported(call, self, recorders) if own is None else call

    def _fast_path(self, theirs: Any, *args: Any) -> Any:
        """Return JAX's data for the C++ dispatch of the program that ran; C++ would not ask which of two to run."""
        return None if self._here.is_sampled else theirs(*args)


class _Here(threading.local):
    """The state of the current thread.

    Attributes:
      left_out: the function whose plain program it may lower; None for none.
      is_sampled: whether the program dispatched last is one of the two of a sampled function.
    """

    left_out: _Function | None = None
    is_sampled = False


class _Reported:
    """An `ExecuteReplicated` without effects whose calls are reported."""

    def __init__(self, program: Any, hooks: SampledCalls, recorders: Recorders) -> None:
        self.program, self._hooks, self._recorders = program, hooks, recorders

    def __getattr__(self, name: str) -> Any:
        return getattr(self.program, name)

    def __call__(self, *args: Any) -> Any:
        return self._hooks.watch.observe(self.program.name, False, self._recorders, partial(self.program, *args))


def _recorders_of(call: Any) -> Recorders | None:
    """Return the recorders of a compiled program, also if it hands over results; None if it has none."""
    handing: Recorders | None = getattr(call, "recorders", None)
    return recorders_of(call) if handing is None else handing
