"""Guard JAX from exceptions of our functions that replace its own.

If a function of ours fails, JAX's own is called, and `report` reports the failure. Exceptions of JAX, and of a user's function
that JAX calls, go to the caller as usual: our functions call JAX's through an object that remembers what it raised.
"""

from __future__ import annotations

import functools
import operator
import signal
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

ReportFailure = Callable[[str, Exception, Sequence[Any]], None]
"""Takes the name of a function of ours, what it raised, and its arguments."""


_NAMES = ("__module__", "__name__", "__qualname__", "__doc__")


class HookError(Exception):
    """A function of ours has failed; the message names it and the error."""


def guarded(
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    report: ReportFailure,
    *,
    begins: bool = False,
    retries: bool = False,
) -> Callable[..., Any]:
    """Make a function that calls `ours(theirs, ...)`, and `theirs(...)` if ours fails.

    Args:
      ours: takes `theirs` and its arguments.
      theirs: JAX's function.
      report: called with each failure of ours.
      begins: whether ours returns a function, which is then called without arguments to get the result. The exceptions
        of that function go to the user.
      retries: whether theirs may be called twice, because it runs no user function. If ours calls it with other
        arguments and then fails, theirs is called again with the right ones.
    """

    # Some of JAX's functions are written in C++, and have names that are not strings.
    @functools.wraps(theirs, assigned=[one for one in _NAMES if isinstance(getattr(theirs, one, None), str)])
    def hook(*args: Any, **options: Any) -> Any:
        call, failure = _Call(theirs), None
        try:
            try:
                given = ours(call, *args, **options)
            except Exception as error:
                stands = call.has_ended and not (retries and call.was_given_others(args, options))
                if (stands and error is call.error) or _is_of_signal(error):
                    raise
                failure = error
            else:
                return given() if begins else given
            if call.has_ended and failure is call.error:
                given = theirs(*args, **options)  # If this fails as well, the error is JAX's own.
                _report(report, ours, failure, args)
                return given
            if stands:
                _report(report, ours, failure, args)
                return call.outcome()
            try:
                given = theirs(*args, **options)
            except Exception as error:
                if not _are_alike(error, failure):
                    _report(report, ours, failure, args)
                raise
            _report(report, ours, failure, args)
            return given
        finally:
            call.error = failure = None  # Their tracebacks hold this frame, and with it the user's arrays.

    return hook


def _are_alike(error: Exception, other: Exception) -> bool:
    """Return whether two exceptions say the same: JAX refuses what a function of ours was refused as well."""
    return type(error) is type(other) and str(error) == str(other)


def quiet(ours: Callable[..., Any], report: ReportFailure) -> Callable[..., Any]:
    """Wrap a function of ours that replaces no function of JAX: if it fails, the wrapper returns None."""

    @functools.wraps(ours)
    def hook(*args: Any, **options: Any) -> Any:
        try:
            return ours(*args, **options)
        except Exception as error:
            if _is_of_signal(error):
                raise
            _report(report, ours, error, args)
        return None

    return hook


def _report(report: ReportFailure, ours: Callable[..., Any], error: Exception, args: Sequence[Any]) -> None:
    """Report a failure by `report`; ignore an exception of `report`."""
    while isinstance(ours, functools.partial):
        ours = ours.func
    try:
        report(getattr(ours, "__qualname__", repr(ours)), error, args)
    except Exception:  # noqa: BLE001 - there is nothing else to report to.
        return


class _Call:
    """Wraps a function of JAX and keeps the outcome of its latest call.

    Attributes:
      has_ended: whether it was called.
      error: the exception that the latest call raised, or None.
    """

    __slots__ = ("_args", "_options", "_result", "_theirs", "error", "has_ended")

    def __init__(self, theirs: Callable[..., Any]) -> None:
        self._theirs = theirs
        self.has_ended = False

    def __call__(self, *args: Any, **options: Any) -> Any:
        self._args, self._options, self._result, self.error, self.has_ended = args, options, None, None, True
        try:
            self._result = self._theirs(*args, **options)
        except BaseException as error:
            self.error = error
            raise
        return self._result

    def was_given_others(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> bool:
        """Whether JAX's function was called with other objects than these arguments."""
        if len(args) != len(self._args) or options.keys() != self._options.keys():
            return True
        same = all(map(operator.is_, args, self._args))
        return not (same and all(self._options[name] is one for name, one in options.items()))

    def outcome(self) -> Any:
        """Return the result of the latest call, or raise its exception."""
        if self.error is not None:
            raise self.error
        return self._result


def _is_of_signal(error: Exception) -> bool:
    """Whether a signal handler of the user, such as one for a time limit, raised an exception while our code ran."""
    handlers = filter(callable, map(signal.getsignal, signal.valid_signals()))
    codes = {getattr(one, "__code__", getattr(type(one).__call__, "__code__", None)) for one in handlers} - {None}
    return any(frame.f_code in codes for frame, _ in traceback.walk_tb(error.__traceback__))
