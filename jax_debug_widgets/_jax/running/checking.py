"""Compile programs that return the records of checks as further results, in a capture that checks.

The records are read later. This is done only for programs that a call of a jitted function compiles. A program compiled
ahead of time stays as JAX makes it, because the user can look at it.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import jax

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.caching import cached_fact
from jax_debug_widgets._jax.compat.guard import quiet
from jax_debug_widgets._jax.compat.private import core, pjit, pxla
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing
from jax_debug_widgets._jax.compat.uninterrupted import uninterrupted
from jax_debug_widgets._jax.origins.callers import callers_of_operation
from jax_debug_widgets._jax.origins.context import captured_settings, capturing
from jax_debug_widgets._jax.origins.frames import Frame
from jax_debug_widgets._jax.origins.residual_results import is_differentiated_now, is_transposed_now
from jax_debug_widgets._jax.passes.births import Births
from jax_debug_widgets._jax.passes.casts import Casts
from jax_debug_widgets._jax.passes.checked import CheckedProgram, Checker, DerivativePart, LanesOf, Recorded
from jax_debug_widgets._jax.passes.checking import checked_program
from jax_debug_widgets._jax.passes.forward_pass import InForward
from jax_debug_widgets._jax.passes.numpy_differences import NumpyDifferences
from jax_debug_widgets._jax.passes.out_of_bounds import OutOfBounds
from jax_debug_widgets._jax.running.derivative_calls import DerivativeHooks, is_in_forward_pass
from jax_debug_widgets._jax.running.further_results import (
    ExecutableWithFurtherResults,
    fast_path_data,
    with_further_results,
    wrap_calls_of_lowered,
)

CHECKERS: dict[str, Checker] = {
    "oob": OutOfBounds(),
    "nonfinite": Births(),
    "casts": Casts(),
    "numpy": NumpyDifferences(),
}
"""The checks of running programs, by their names in `--check`."""


def may_be_checked(jaxpr: Any, checks: Sequence[str]) -> bool:
    """Return whether a program of JAX's own, such as an un-jitted operation, has an equation that one of the checks is for."""
    return any(_checked_by(one)(jaxpr) for one in checks if one in CHECKERS and one != "nonfinite")


@functools.cache
def _checked_by(check: str) -> Callable[[Any], bool]:
    """Return a function that says whether a check is for an equation of a program; it remembers its answers."""
    checker = CHECKERS[check]

    @cached_fact
    def is_checked(jaxpr: Any) -> bool:
        return checker.of_results(jaxpr) is not None or any(
            checker.is_for(one) or any(map(is_checked, core.jaxprs_in_params(one.params))) for one in jaxpr.eqns
        )

    return is_checked


class CheckingSettings(Protocol):
    """The settings of a capture, as far as checks need them.

    Attributes:
      check: the checks that are on.
      takes_checks: whether a program may return the records of the checks as further results.
      taking_checks: the same settings with `takes_checks` True.
    """

    check: tuple[str, ...]
    takes_checks: bool
    taking_checks: Any


class CheckHooks(Replacing):
    """Installs the hooks of the checks; installing is counted, so that captures may nest and overlap."""

    def __init__(
        self, found: Callable[[Recorded, Sequence[Any]], None], lanes_of: LanesOf, note: Callable[[str], object]
    ) -> None:
        """Make the hooks, not yet installed.

        Args:
          found: takes a program and the results with its records after each call.
          lanes_of: returns which axes of a value are lanes.
          note: takes a sentence for the user.
        """
        super().__init__()
        self._found, self._lanes_of, self._note = quiet(found, self._report_failure), lanes_of, note
        self._derivatives = DerivativeHooks(self._found, lanes_of, self._report_failure)
        self._forward: set[InForward] = set()
        self._programs: weakref.WeakKeyDictionary[Any, dict[Any, CheckedProgram | None]] = weakref.WeakKeyDictionary()

    def _put_in(self, replace: Replacements) -> None:
        if features.available(features.HANDOVER):
            replace.attribute(pjit, "_pjit_call_impl_python", self._call)
            replace.attribute(pxla, "lower_sharding_computation", self._lower, retries=True)
            replace.attribute(pjit, "_get_fastpath_data", self._fast_path, retries=True)
        self._derivatives.put_in(replace)

    def _call(self, theirs: Any, *args: Any, jaxpr: Any, **params: Any) -> Any:
        settings: CheckingSettings | None = captured_settings()
        if settings is None or not settings.check or jax.process_count() > 1:
            return theirs(*args, jaxpr=jaxpr, **params)
        with capturing(settings.taking_checks):
            return theirs(*args, jaxpr=jaxpr, **params)

    def _fast_path(
        self, theirs: Any, executable: Any, out_tree: Any, arguments: Any, outputs: Any, effects: Any, *others: Any
    ) -> Any:
        call = getattr(executable, "unsafe_call", None)
        if not isinstance(call, Checking):
            return theirs(executable, out_tree, arguments, outputs, effects, *others)
        records = call.take_latest()
        if records is None:
            return None
        return fast_path_data(theirs, executable, call, records, out_tree, arguments, outputs, effects, *others)

    def _lower(self, theirs: Any, program: Any, *arguments: Any, **options: Any) -> Any:
        api_name, name, *_ = arguments
        checked = self._checked(program, f"{api_name}({name})")
        if checked is None:
            return theirs(program, *arguments, **options)
        try:
            with uninterrupted():
                lowered = theirs(checked.program, *with_further_results(arguments, checked.rows.count), **options)
        except Exception as error:  # noqa: BLE001 - it may be possible to lower the program without checks.
            self._is_unchecked(name, error)
            return theirs(program, *arguments, **options)
        wrap_calls_of_lowered(lowered, partial(Checking, checked=checked, found=self._found), CheckHooks)
        return lowered

    @uninterrupted()
    def _checked(self, program: Any, name: str) -> CheckedProgram | None:
        settings: CheckingSettings | None = captured_settings()
        if settings is None or not settings.takes_checks:
            return None
        # JAX caches by the identity of a program: checking a program must always give the same object.
        known, key = self._programs.setdefault(program, {}), settings.check
        if key not in known:
            known[key] = None
            checkers = {one: CHECKERS[one] for one in settings.check if one in CHECKERS}
            try:
                left: set[str] = set()
                part = _part_now(name)
                known[key] = checked_program(program, checkers, self._lanes_of, part, left=left, forward=self._forward)
                if checkers and left:
                    self._note(f"{name}: not checked ({', '.join(checkers)}): {', '.join(sorted(left))}.")
            except Exception as error:  # noqa: BLE001 - the user's program runs, whatever fails in our checks.
                self._is_unchecked(name, error)
        return known[key]

    def _is_unchecked(self, name: str, error: Exception) -> None:
        line = str(error).partition("\n")[0]
        self._note(f"{name} runs without its checks: {type(error).__name__}: {line}")


def _part_now(name: str) -> DerivativePart:
    """Return the part of an un-jitted derivative that the program being lowered is."""
    is_backward = "transpose(" in name or is_transposed_now()
    is_differentiated = not is_backward and (is_differentiated_now() or is_in_forward_pass())
    return DerivativePart(is_backward, is_differentiated, is_unjitted=is_backward or is_differentiated)


class Checking(ExecutableWithFurtherResults):
    """An `ExecuteReplicated` with the records of its checks as the last results."""

    def __init__(
        self, program: Any, checked: CheckedProgram, found: Callable[[CheckedProgram, Sequence[Any]], None]
    ) -> None:
        super().__init__(program, checked.rows.count)
        self._checked, self._found = checked, found
        self._by_callers: dict[tuple[Frame, ...], CheckedProgram] = {}

    def __call__(self, *args: Any) -> Any:
        """Run the program; pass its records on, and return the user's results."""
        results, self._latest = self._split(self.program(*args))
        self.dispatched(self._latest)
        return results

    def dispatched(self, further: Sequence[Any]) -> None:
        """Pass on the records of a call."""
        self._found(self._called() if self._checked.is_of_call else self._checked, further)

    def _called(self) -> CheckedProgram:
        """Return the program with the frames that call it now."""
        callers = callers_of_operation()
        if callers not in self._by_callers:
            self._by_callers[callers] = self._checked.called_from(callers)
        return self._by_callers[callers]
