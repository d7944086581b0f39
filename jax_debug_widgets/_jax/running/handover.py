"""Compile programs that return the operands of their prints as further results, and read these at each call.

This is done while a capture is on, and only for programs that a call of a jitted function compiles. A program compiled
ahead of time stays as JAX makes it, because the user can look at it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.arrays import begin_to_read
from jax_debug_widgets._jax.compat.private import dispatch, pjit, pxla
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing
from jax_debug_widgets._jax.compat.uninterrupted import uninterrupted
from jax_debug_widgets._jax.origins.context import captured_settings, capturing
from jax_debug_widgets._jax.origins.equation import DebugCall, Recorders
from jax_debug_widgets._jax.passes.result_passing import (
    ReportingProgram,
    ResultReporter,
    is_straight,
    with_results,
    without_unused,
)
from jax_debug_widgets._jax.passes.watching import WatchHooks
from jax_debug_widgets._jax.running.backlog import Backlog, HandOver, PendingResult
from jax_debug_widgets._jax.running.further_results import (
    ExecutableWithFurtherResults,
    fast_path_data,
    with_further_results,
    wrap_calls_of_lowered,
)
from jax_debug_widgets._jax.running.may_hand_over import (
    HandoverSettings,
    are_given_away_already,
    may_hand_over,
    must_call,
    would_take,
)


class CallObserver(Protocol):
    """Reports calls, see `dispatch.DispatchWatch`."""

    def observe(self, name: str, ordered: bool, recorders: Recorders | None, execute: Callable[[], Any]) -> Any:
        """Call `execute`, and report it."""
        ...

    def dispatched(self, name: str, recorders: Recorders, hand_over: HandOver) -> None:
        """Call `hand_over`, and report the call that was dispatched before."""
        ...


class Unobserved:
    """The `CallObserver` that reports nothing."""

    def observe(self, name: str, ordered: bool, recorders: Recorders | None, execute: Callable[[], Any]) -> Any:
        del name, ordered, recorders
        return execute()

    def dispatched(self, name: str, recorders: Recorders, hand_over: HandOver) -> None:
        del name, recorders
        hand_over(None)


class HandoverHooks(Replacing):
    """Installs the hooks of the handover; installing is counted, so that captures may nest and overlap.

    Attributes:
      backlog: the results that have been handed over and not yet reported.
      watch: reports the calls, see `dispatch.DispatchWatch`.
    """

    def __init__(
        self,
        offer: Callable[[DebugCall, Any], ResultReporter | None],
        watch_hooks: WatchHooks,
        is_held: Callable[[], bool],
    ) -> None:
        """Make the hooks, not yet installed.

        Args:
          offer: takes a print's equation and the capture's settings; returns the reader of its results, or None if the
            print must be a callback.
          watch_hooks: puts the taps of watched values into a program.
          is_held: whether programs are to be held at their prints; then the prints must be callbacks.
        """
        super().__init__()
        self._offer = offer
        self._watch_hooks = watch_hooks
        self._is_held = is_held
        self._is_fast = False
        """Whether JAX's C++ caches may hold programs of ours."""
        self._is_fast_with_effects = False
        """Whether these may include programs with effects, which plain JAX dispatches from Python."""
        self._are_given_away = False
        """Whether any program with donated arguments was seen."""
        self._cache: Any = getattr(pxla, "_cached_lowering_to_hlo", None)
        """JAX's cache of lowered programs; it is looked up once, because other hooks may replace the attribute later."""
        self._lowered = 0
        """How many programs JAX had lowered at the last search for donated arguments; without new ones, none is needed."""
        self.backlog = Backlog()
        self.watch: CallObserver = Unobserved()

    def _put_in(self, replace: Replacements) -> None:
        if features.available(features.HANDOVER):
            replace.attribute(pjit, "_pjit_call_impl_python", self._call)
            replace.attribute(pxla, "lower_sharding_computation", self._lower, retries=True)
            replace.attribute(pjit, "_get_fastpath_data", self._fast_path, retries=True)
            lowered = self._cache.cache_info().misses
            if lowered != self._lowered and are_given_away_already(self._cache):
                self.gives_away()
            self._lowered = lowered

    def _call(self, theirs: Any, *args: Any, jaxpr: Any, **params: Any) -> Any:
        settings: HandoverSettings | None = captured_settings()
        handing = None if settings is None else settings.handing
        if handing is None or must_call() or self._is_held() or not may_hand_over(jaxpr, handing):
            return theirs(*args, jaxpr=jaxpr, **params)
        with capturing(handing):
            return theirs(*args, jaxpr=jaxpr, **params)

    def _fast_path(
        self, theirs: Any, executable: Any, out_tree: Any, arguments: Any, outputs: Any, effects: Any, *others: Any
    ) -> Any:
        call = getattr(executable, "unsafe_call", None)
        if not isinstance(call, HandoverExecutable):
            return theirs(executable, out_tree, arguments, outputs, effects, *others)
        further = call.take_latest()
        # For a deleted argument, C++ and Python raise different errors.
        if further is None or (effects and self._are_given_away) or self._is_held():
            return None
        self._is_fast = True
        self._is_fast_with_effects |= bool(effects)
        return fast_path_data(theirs, executable, call, further, out_tree, arguments, outputs, (), *others)

    def gives_away(self) -> None:
        """Note that a program with donated arguments exists.

        From now on, Python dispatches programs with effects.
        """
        if not self._are_given_away:
            self._are_given_away = True
            if self._is_fast_with_effects:
                self.hold()

    def hold(self) -> None:
        """Clear JAX's C++ caches, so that Python dispatches each program's next call.

        This may be called from any thread.
        """
        if self._is_fast:
            self._is_fast = self._is_fast_with_effects = False
            pjit._cpp_pjit_cache_fun_only.clear()
            pjit._cpp_pjit_cache_explicit_attributes.clear()

    def dispatched(self, call: HandoverExecutable, further: Sequence[Any]) -> None:
        """Report a call that JAX's C++ has dispatched; `further` are its further results."""
        self.watch.dispatched(call.program.name, call.recorders, partial(call.hand_over, further))
        if self._is_held():  # The hold began while C++ cached the program.
            self._is_fast = True
            self.hold()

    def _lower(self, theirs: Any, program: Any, *arguments: Any, **options: Any) -> Any:
        api_name, name, *_, donated = arguments
        as_ever = partial(theirs, program, *arguments, **options)
        if any(donated):
            self.gives_away()
        reporting = self._reporting(program, f"{api_name}({name})", options)
        if reporting is None or would_take(reporting, program, donated):
            return as_ever()
        further = with_further_results(arguments, reporting.count)
        lowered = self._lowered_reporting(partial(theirs, reporting.program, *further, **options), reporting)
        if lowered is None:
            return as_ever()
        wrap_calls_of_lowered(lowered, partial(HandoverExecutable, hooks=self, reporting=reporting), HandoverHooks)
        return lowered

    @uninterrupted()
    def _lowered_reporting(self, lower: Callable[[], Any], reporting: ReportingProgram) -> Any | None:
        try:
            with self._watch_hooks.tapped_before():
                lowered = lower()
        except Exception:  # noqa: BLE001 - it may be possible to lower the program without further results.
            return None
        # The functions that read watched values work on one device only.
        return lowered if reporting.watches is None or len(lowered._device_list) == 1 else None

    @uninterrupted()
    def _reporting(self, program: Any, name: str, options: Any) -> ReportingProgram | None:
        settings: HandoverSettings | None = captured_settings()
        if settings is None or not settings.hands_over or not may_hand_over(program, settings):
            return None
        try:
            needed = program if settings.watch is None or options["keep_unused"] else without_unused(program)
            tapped = needed if settings.watch is None else self._watch_hooks.tapped(needed, name, 1) or needed
            if not is_straight(tapped):
                return None
            reporting = with_results(tapped, name, lambda equation: self._offer(equation, settings))
        except Exception:  # noqa: BLE001 - if JAX has changed, prints stay callbacks.
            return None
        return reporting if reporting is None or settings.watch is None else replace(reporting, watches=needed)


class HandoverExecutable(ExecutableWithFurtherResults):
    """An `ExecuteReplicated` that hands over the last results of its program: the operands of its prints."""

    def __init__(self, program: Any, hooks: HandoverHooks, reporting: ReportingProgram) -> None:
        super().__init__(program, reporting.count)
        self.hooks = hooks
        self.recorders = Recorders((line.reporter for line in reporting.lines), fire_elsewhere=False, are_results=True)
        self._reporting = reporting
        self._devices = program._local_devices

    def __call__(self, *args: Any) -> Any:
        """Run the program, hand over the further results, and return the user's results."""
        outputs = self.hooks.watch.observe(self.program.name, False, self.recorders, partial(self._execute, *args))
        results, self._latest = self._split(outputs)
        return results

    def dispatched(self, further: Sequence[Any]) -> None:
        """See `HandoverHooks.dispatched`."""
        self.hooks.dispatched(self, further)

    def _execute(self, *args: Any) -> Any:
        outputs = self.program(*args)
        self.hand_over(self._split(outputs)[1])
        return outputs

    def hand_over(
        self, further: Sequence[Any], announce: Callable[[PendingResult], object] | None = None
    ) -> PendingResult:
        """Add the further results of a call to the backlog. Call `announce` with them before any thread can report them."""
        if self._devices[0].platform != "cpu":
            begin_to_read(further)
        handed = PendingResult(self.hooks.backlog, self, self._reporting, further)
        if announce is not None:
            announce(handed)
        self.hooks.backlog.add(handed)
        for device in self._devices:  # `jax.effects_barrier` waits for these tokens.
            dispatch.runtime_tokens.set_output_runtime_token(device, handed)  # pyright: ignore[reportArgumentType]
        return handed
