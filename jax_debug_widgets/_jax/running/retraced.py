"""Run a function that a capture traces again as plain JAX would run it: with the globals of its first trace.

JAX traces a function once. The globals that the function reads become constants of its program, and a later change of a
global changes nothing. A capture is part of the keys of JAX's caches, so a capture traces the function again for our
hooks, with the globals as they are now. If that gives another program than the cached one, the cached one is run.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from traceback import format_exception_only
from types import FrameType
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.guard import ReportFailure, quiet
from jax_debug_widgets._jax.compat.private import ad_checkpoint, common, config, core, pe, pjit, place_of, util
from jax_debug_widgets._jax.compat.replacements import CachedFunction, Replacements, Replacing
from jax_debug_widgets._jax.origins.context import (
    captured_settings,
    capturing,
    is_capturing,
    leaves_out_debugging,
    tracing_for_us,
    uncached,
)
from jax_debug_widgets._jax.passes.program import without_debugging
from jax_debug_widgets._jax.passes.program_difference import (
    difference,
    has_marks,
    is_as_without_us,
)
from jax_debug_widgets._jax.running.cached_programs import CachedProgram, differing, failing


def traces_apart() -> Sequence[tuple[Any, str]]:
    """Return the functions with which this JAX traces and caches loops, branches and checkpointed functions."""
    known = (pe, "trace_to_jaxpr"), (common, "_initial_style_open_jaxpr"), (ad_checkpoint, "_trace_to_jaxpr")
    return [(module, name) for module, name in known if hasattr(module, name)]


class RetracedHooks(Replacing):
    """Installs the hooks for new traces, counted, so that captures may nest and overlap; needed before `ReuseHooks`."""

    def __init__(self, ran_cached: Callable[[CachedProgram], None], reuse: Callable[[Any], bool]) -> None:
        """Make the hooks, not yet installed.

        Args:
          ran_cached: called in a capture whenever Python dispatches a function and its cached program runs instead of the new
            one.
          reuse: called with what a capture has traced first, and JAX caches for outside of captures too; returns whether
            the capture runs it from there.
        """
        super().__init__()
        self._ran_cached, self._reuse = ran_cached, reuse
        self._here = _Here()
        self._retraced: weakref.WeakKeyDictionary[Any, CachedProgram | None] = weakref.WeakKeyDictionary()
        """For each program that was traced again, or that runs instead: how it differs; None if it does not."""
        self._inside: weakref.WeakKeyDictionary[Any, tuple[CachedProgram, ...]] = weakref.WeakKeyDictionary()

    def _put_in(self, replace: Replacements) -> None:
        if not features.available(features.RETRACED):
            return
        replace.attribute(pjit, "_infer_params_cached", self._known, wrap=CachedFunction)
        replace.attribute(pjit, "_resolve_and_lower", self._lower)
        replace.attribute(pjit, "_get_fastpath_data", self._fast_path)
        replace.attribute(pe.DynamicJaxprTrace, "__init__", self._begin_trace)
        for module, name in traces_apart():
            replace.attribute(module, name, self._traced, wrap=CachedFunction)

    @cached_property
    def _first(self) -> Callable[..., list[Any]]:
        """Return a cache by function and by JAX's context without ours: a list with the program of the first capture."""
        return util.weakref_lru_cache(lambda *_signature, **_options: [], maxsize=8192)

    def _known(self, theirs: Callable[..., Any], *signature: Any) -> Any:
        """Return JAX's cache entry for a jitted function with such arguments; JAX fills it in if it is empty."""
        here = theirs(*signature)
        if not is_capturing() or id(here) in self._here.filling:
            return here
        if here.pjit_params is not None:
            self._report_cached(here.pjit_params.params["jaxpr"])
            return here
        call = _call_here()
        with capturing(None):
            plain = theirs(*signature)
            if plain.pjit_params is None and call is not None:  # It may be cached for another `jit`.
                self._looked_up(_inferring(call))
        if plain.pjit_params is None:
            return _FirstTraced(here, plain, self._reuse, self._report_failure)
        if call is not None:
            self._fill(here, plain.pjit_params, _inferring(call))
        return here

    def _fill(self, here: Any, plain: Any, infer: partial[Any]) -> None:
        """Trace a jitted function for this capture, or use the program that JAX has cached."""
        function, jaxpr, found = infer.args[0], plain.params["jaxpr"], None
        self._here.filling.add(id(here))
        try:
            with tracing_for_us():
                anew, _ = infer()
        except Exception as error:  # noqa: BLE001 - plain JAX would not trace it again, and so not raise this.
            found = failing(function, error)
        else:
            if not (anew.consts or plain.consts):  # With closed-over tracers the programs cannot be compared.
                found = _compared(function, jaxpr, anew.params["jaxpr"], lambda: infer()[0].params["jaxpr"])
            # Otherwise the function has nothing to observe, and its own executable is reused.
            if here.pjit_params is None:
                here.pjit_params = anew
        finally:
            self._here.filling.discard(id(here))
        if found is not None:
            # A new object: the old one represents the program that is reused elsewhere.
            jaxpr = ClosedJaxpr(jaxpr.jaxpr, jaxpr.consts)
            here.pjit_params = plain._replace(params={**plain.params, "jaxpr": jaxpr})
            self._retraced[jaxpr] = found
            self._report_cached(jaxpr)

    def _traced(self, theirs: Callable[..., Any], function: Any, *signature: Any, **options: Any) -> Any:
        """Return the program of a function that is not jitted itself, such as the body of a loop."""
        if not is_capturing() or self._here.looks_up or is_jitted(signature):
            return theirs(function, *signature, **options)
        with capturing(None):
            first = self._first(function, *signature, **options)
            known = self._looked_up(partial(theirs, function, *signature, **options)) or next(iter(first), None)
        if known is None:
            first.append(theirs(function, *signature, **options))
            return first[0]
        try:
            anew = theirs(function, *signature, **options)
        except Exception as error:  # noqa: BLE001 - see above.
            self._ran_cached(failing(function, error))
            return known
        key = anew[0]
        if key not in self._retraced:
            again = partial(theirs, function, *signature, **options)
            self._retraced[key] = _compared(function, _closed(known), _closed(anew), lambda: _closed(again()))
        self._report_cached(key)
        return anew if self._retraced[key] is None else known

    def _looked_up(self, trace: Callable[[], Any]) -> Any:
        """Return the program that JAX has cached and `trace` looks up; None if there is none."""
        self._here.looks_up = True
        try:
            with config.explain_cache_misses(False), config.log_compiles(False), _uncounted():
                return trace()
        except (_NotTraced, Exception):  # noqa: BLE001 - JAX will raise the error itself.
            return None
        finally:
            self._here.looks_up = False

    def _begin_trace(self, theirs: Callable[..., None], trace: Any, *args: Any, **options: Any) -> None:
        if self._here.looks_up:
            raise _NotTraced
        theirs(trace, *args, **options)

    def _report_cached(self, jaxpr: Any) -> None:
        for found in self._retraced_in(jaxpr):
            self._ran_cached(found)

    def _retraced_in(self, program: Any) -> tuple[CachedProgram, ...]:
        """Return the cached programs that run instead of new traces: for a program and the programs inside it."""
        if program not in self._inside:
            found = self._retraced.get(program)
            inside = [
                one
                for equation in getattr(program, "jaxpr", program).eqns
                for value in jax.tree.leaves(equation.params)
                if isinstance(value, ClosedJaxpr | core.Jaxpr)
                for one in self._retraced_in(value)
            ]
            self._inside[program] = tuple(dict.fromkeys([*([found] if found else []), *inside]))
        return self._inside[program]

    def _lower(self, theirs: Callable[..., Any], *args: Any, jaxpr: Any, **params: Any) -> Any:
        lowered = theirs(*args, jaxpr=jaxpr, **params)
        self._here.is_retraced = is_capturing() and bool(self._retraced_in(jaxpr))
        return lowered

    def _fast_path(self, theirs: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Return JAX's data for the C++ dispatch of a program; None if Python must dispatch each call."""
        data = theirs(*args, **options)
        return None if self._here.is_retraced else data


class _Here(threading.local):
    """The state of the current thread.

    Attributes:
      looks_up: whether it only looks up programs in JAX's caches; nothing is traced then.
      filling: the `id`s of the entries of JAX's cache that are being filled.
      is_retraced: whether the program dispatched last differs from a new trace of its function.
    """

    looks_up = False
    is_retraced = False

    def __init__(self) -> None:
        self.filling: set[int] = set()


class _NotTraced(BaseException):
    """Raised when JAX has not traced a function that is only looked up."""


class _FirstTraced:
    """The cache entry of a function first traced in a capture; fills the outer entry, too, if no hook changed it."""

    def __init__(self, here: Any, plain: Any, reuse: Callable[[Any], bool], report: ReportFailure) -> None:
        self._here, self._plain, self._reuse, self._report = here, plain, reuse, report

    @property
    def pjit_params(self) -> Any:
        """JAX's entry in this capture."""
        return self._here.pjit_params

    @pjit_params.setter
    def pjit_params(self, traced: Any) -> None:
        self._here.pjit_params = traced
        quiet(self._fill_plain, self._report)(traced)

    def _fill_plain(self, traced: Any) -> None:
        jaxpr = traced.params["jaxpr"]
        if not (traced.consts or leaves_out_debugging()) and is_as_without_us(jaxpr.jaxpr):
            if not self._reuse(traced):  # A new object: the old one represents the program of this capture.
                params = {**traced.params, "jaxpr": ClosedJaxpr(jaxpr.jaxpr, jaxpr.consts)}
                traced = traced._replace(params=params)
            self._plain.pjit_params = traced


_ARGUMENTS = ("fun", "ji", "args", "kwargs")
"""The parameters of JAX's function that looks a program up in the cache."""


def _call_here() -> FrameType | None:
    """Return the frame of JAX's function that looks a program up in the cache; None if there is none."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename != pjit.__file__:
        frame = frame.f_back
    return frame if frame is not None and set(_ARGUMENTS) <= set(frame.f_code.co_varnames) else None


def _inferring(call: FrameType) -> partial[Any]:
    """Return a call of JAX's `_infer_params`, which looks up and traces if needed, with the arguments of `call`."""
    return partial(pjit._infer_params, *(call.f_locals[name] for name in _ARGUMENTS))


def _compared(function: Any, known: Any, anew: Any, trace_plainly: Callable[[], Any]) -> CachedProgram | None:
    """Return how `anew`, traced in a capture, differs from `known`; None if not, or only because of our hooks."""
    try:
        found = difference(without_debugging(known) if leaves_out_debugging() else known, anew)
        is_of_hooks = captured_settings().watch is not None or leaves_out_debugging() or has_marks(anew.jaxpr)
    except Exception as error:  # noqa: BLE001 - a fault of ours, or an unknown JAX version: the user's program runs.
        why = f"it could not be compared with one traced now ({format_exception_only(error)[0].strip()})"
        return CachedProgram(weakref.ref(function), (), why=why)
    if found is None or not is_of_hooks:
        return found and differing(function, found)
    # The difference may come from our hooks: compare a trace without them.
    with capturing(None), uncached():
        try:
            found = difference(known, trace_plainly())
        except Exception as error:  # noqa: BLE001 - plain JAX would not trace it again, and so not raise this.
            return failing(function, error)
    return found and differing(function, found)


def _closed(traced: tuple[Any, ...]) -> Any:
    """Return the result of a function of `traces_apart` as a program with its constants."""
    program, *rest = traced
    return program if isinstance(program, ClosedJaxpr) else ClosedJaxpr(program, rest[0])


def is_jitted(signature: tuple[Any, ...]) -> bool:
    """Return whether a function is traced for `jax.jit`, which has its own cache."""
    return any(isinstance(one, core.DebugInfo) and one.traced_for in ("jit", "pjit") for one in signature)


@contextmanager
def _uncounted() -> Iterator[None]:
    """Turn off JAX's event listener for its own cache tests, because a look-up here traces nothing."""
    module, name = place_of(util, "test_event_listener")
    listener = getattr(module, name, None)
    if listener is None:
        yield
        return
    setattr(module, name, None)
    try:
        yield
    finally:
        setattr(module, name, listener)
