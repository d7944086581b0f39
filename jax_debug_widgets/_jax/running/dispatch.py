"""Observe compilations and executions: the functions traced, lowered and compiled, the programs run, and their ends.

Programs with debugging effects or host callbacks never take JAX's C++ fast path, so each of their executions goes through
`ExecuteReplicated.__call__`; replacing it, while a capture is on, shows them all, in libraries too. Compilations are
seen through `jax.monitoring`, which is public.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import FunctionType, MethodType
from typing import Any, Literal, Protocol

import jax

from jax_debug_widgets._jax.compat import features, hidden_frames
from jax_debug_widgets._jax.compat.names import function_of
from jax_debug_widgets._jax.compat.private import api_util, dispatch, monitoring, pxla
from jax_debug_widgets._jax.compat.processes import ProcessShare
from jax_debug_widgets._jax.origins.equation import Recorders
from jax_debug_widgets._jax.running.backlog import HandOver, PendingResult

Stage = Literal["trace", "lower", "compile", "numba"]
"""A stage of the preparation of a function before it runs."""

_STAGE_EVENTS: dict[str, Stage] = {
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    "/jax/core/compile/backend_compile_duration": "compile",
}
"""Maps the names of `jax.monitoring`'s events to stages."""


@dataclass(frozen=True, eq=False)
class Execution:
    """One execution of a program with effects or callbacks, just dispatched by the current thread.

    Attributes:
      finished: whether it was over when the dispatch returned, as programs with callbacks are on one CPU.
      outputs, effects: arrays and tokens to wait for if it has not finished; their `block_until_ready()` raises if the
        program failed.
      error: the exception that it raised, if known.
    """

    finished: bool
    outputs: tuple[Any, ...] = ()
    effects: tuple[Any, ...] = ()
    error: BaseException | None = None

    @property
    def handed(self) -> PendingResult | None:
        """The further results of the call; None if it has none."""
        return next((one for one in self.effects if isinstance(one, PendingResult)), None)

    @property
    def is_silent(self) -> bool:
        """Whether one can only wait for its end, because no output shows whether it is over."""
        return not (self.finished or self.outputs or self.handed)


_CALLBACK = "CpuCallback error"
"""The text in XLA's error after a callback has raised; the error is a `ValueError` if JAX's C++ dispatched the program."""


class Observer(Protocol):
    """Takes the reports of dispatches. Called on the dispatching thread; must be quick and not raise."""

    def executing(self, name: str, ordered: bool, recorders: Recorders | None) -> Callable[[Execution], None]:
        """Called before a program with effects or callbacks is dispatched; the returned function is called after that.

        If it raises, the program is not dispatched. The recorders are None if the program was compiled outside a
        capture.
        """
        ...

    def dispatched(self, name: str, recorders: Recorders, hand_over: HandOver) -> None:
        """Called when a program with further results was dispatched; it must call `hand_over`, see `HandOver`."""
        ...

    def failed(self, error: BaseException) -> BaseException:
        """Called with the error of a program; returns the error that its caller gets."""
        ...

    def compiled(self, stage: Stage, name: str, seconds: float) -> None:
        """Called when a function was traced, lowered or compiled, with the seconds that this took."""
        ...


class DispatchWatch:
    """Reports executions and compilations of this process to `observer` between `start` and `stop`."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._is_on = False

    def start(self) -> None:
        """Begin to report."""
        original = self._original = pxla.ExecuteReplicated.__call__

        def execute(program: Any, *args: Any) -> Any:
            run = partial(original, program, *args)
            # A program with only pure callbacks has no effects, but JAX waits for its host calls, too.
            if not (program.has_unordered_effects or program.ordered_effects or program.has_host_callbacks):
                return run()
            ordered, recorders = bool(program.ordered_effects), recorders_of(program)
            if recorders is None and not program.has_host_callbacks:  # A check of `checkify`, which has no prints.
                return run()
            if recorders is not None and jax.process_count() > 1 and features.available(features.PROCESSES):
                recorders.share = share_of(program)
            return self.observe(program.name, ordered, recorders, run)

        self._replacement = execute
        pxla.ExecuteReplicated.__call__ = execute  # pyright: ignore[reportAttributeAccessIssue]
        jax.monitoring.register_event_duration_secs_listener(self._on_duration)
        self._is_on = True

    def observe(self, name: str, ordered: bool, recorders: Recorders | None, execute: Callable[[], Any]) -> Any:
        """Call `execute`, and report the execution, see `Observer.executing`.

        `execute` dispatches a program and returns its outputs.
        """
        if not self._is_on:
            return execute()
        before = pending_tokens()
        executed = self._observer.executing(name, ordered, recorders)
        try:
            outputs = execute()
            execution = _dispatched(outputs, before)
        except api_util.InternalFloatingPointError as error:
            # The caller gets a different error, after JAX has found the operation.
            message = f"invalid value ({error.ty}) encountered in {function_of(name)}"
            executed(Execution(finished=True, error=FloatingPointError(message)))
            raise
        except BaseException as error:
            hidden_frames.clean(error)
            shown = self._observer.failed(error)
            executed(Execution(finished=True, error=shown))
            if shown is error:
                raise
            raise shown from None
        executed(execution)
        return outputs

    def dispatched(self, name: str, recorders: Recorders, hand_over: HandOver) -> None:
        """Report a program with further results that C++ has dispatched."""
        if self._is_on:
            self._observer.dispatched(name, recorders, hand_over)
        else:
            hand_over(None)

    def stop(self) -> None:
        """Stop reporting, and restore JAX's own method."""
        self._is_on = False
        if pxla.ExecuteReplicated.__call__ is self._replacement:
            pxla.ExecuteReplicated.__call__ = self._original
        monitoring.unregister_event_duration_listener(self._on_duration)

    def _on_duration(self, event: str, duration_secs: float, **details: Any) -> None:
        stage = _STAGE_EVENTS.get(event)
        if stage is not None:
            self._observer.compiled(stage, str(details.get("fun_name", "")), duration_secs)


def _dispatched(outputs: Sequence[Any], before: Sequence[Any]) -> Execution:
    """Return the execution of a program with these outputs; `before` are the tokens pending before its call."""
    # Tokens of earlier programs may still be pending on other devices, or have failed; they do not belong to this
    # program.
    effects = tuple(token for token in pending_tokens() if not any(token is old for old in before))
    # All outputs of a program become ready together, when the program is over.
    is_handed_over = any(isinstance(one, PendingResult) for one in effects)
    if outputs and not is_handed_over and _is_ready(outputs[-1]):
        return Execution(finished=True, error=wait(effects or outputs[-1:]))
    return Execution(finished=False, outputs=tuple(outputs), effects=effects)


_REFUSED = (AttributeError, RuntimeError, ValueError)
"""The errors of arrays and tracers without a value; exceptions of signal handlers, as for a time limit, are none of them."""


def execution_of(outputs: Sequence[Any]) -> Execution:
    """Return the execution of programs without effects that returned these arrays; finished if all are ready."""
    try:
        finished = all(map(_is_ready, outputs))
    except _REFUSED:  # Tracers and donated arrays raise this; `wait` handles them.
        finished = False
    return Execution(finished, error=wait(outputs)) if finished else Execution(finished, tuple(outputs))


def _is_ready(output: Any) -> bool:
    """Return whether an output is ready; a typed key is as ready as its numbers, a token as the array in it."""
    array = getattr(output, "_base_array", getattr(output, "_buf", output))
    return hasattr(array, "is_ready") and array.is_ready()


def recorders_of(program: Any) -> Recorders | None:
    """Return the recorders of a compiled program, an `ExecuteReplicated`; None if it has none."""
    return recorders_in(getattr(program, "keepalive", None))


def recorders_in(kept: Iterable[Any] | None) -> Recorders | None:
    """Return the recorders among the objects that a program keeps alive; None if there are none."""
    return next((one for one in kept or () if isinstance(one, Recorders)), None)


def share_of(program: Any) -> ProcessShare | None:
    """Return this process's share of a compiled program, an `ExecuteReplicated`; None if the process runs all of it."""
    here = program._local_devices
    shardings = (*program.in_handler.in_shardings, *program.out_handler.out_shardings)
    devices = next((one._device_assignment for one in shardings if hasattr(one, "_device_assignment")), None)
    if devices is None:  # The program has neither arguments nor results.
        return ProcessShare(len(here), reporter=None, is_reporter=False)
    if len(devices) == len(here):
        return None
    reporter = devices[0].process_index
    is_of_all = _processes_of(devices) == jax.process_count()
    return ProcessShare(len(here), reporter, reporter == jax.process_index(), is_of_all=is_of_all)


@functools.lru_cache(maxsize=64)
def _processes_of(devices: tuple[Any, ...]) -> int:
    """Return the number of processes to which these devices belong."""
    return len({device.process_index for device in devices})


def pending_tokens() -> tuple[Any, ...]:
    """Return the tokens that `jax.effects_barrier` in this thread would wait for; any thread may wait for them.

    If JAX does not expose them, call the barrier here and return none.
    """
    if not features.available(features.CALLS):
        with suppress(*_REFUSED):
            jax.effects_barrier()
        return ()
    tokens = dispatch.runtime_tokens
    return (*tokens.current_tokens.values(), *tokens.output_runtime_tokens.values())


def forget_failed_tokens() -> None:
    """Wait for this thread's effects, and remove those that failed.

    Otherwise JAX's barrier would raise their error at each later call.
    """
    if not features.available(features.CALLS):
        return
    tokens = dispatch.runtime_tokens
    for table in (tokens.current_tokens, tokens.output_runtime_tokens):
        for key, token in list(table.items()):
            if wait((token,)) is not None:
                del table[key]


def wait(values: Sequence[Any]) -> Exception | None:
    """Block until outputs or effects of a program are ready; return the program's error if one failed.

    A value that a later program has taken over (donated outputs, the token of ordered effects) counts as ready.
    """
    failed: Exception | None = None
    for value in values:
        try:
            value.block_until_ready()
        except _REFUSED as error:  # An error of XLA belongs to the program: it is reported, not handled.
            if "deleted" not in str(error) and "donated" not in str(error):
                failed = error
    return failed


def is_of_effects(error: BaseException | None) -> bool:
    """Return whether a program raised the error while it ran, not JAX for an argument or a NaN in its outputs."""
    return isinstance(error, jax.errors.JaxRuntimeError) or (isinstance(error, ValueError) and _CALLBACK in str(error))


def is_compiled_function(function: object) -> bool:
    """Return whether calling `function` runs a compiled JAX program.

    Such functions are jitted, pmapped, AOT-compiled, wrapped like these, or methods of this kind. `jax.stages.Wrapped`
    is their public protocol. The type is asked, because asking the object could run a `__getattr__` of the user.
    """
    if isinstance(function, FunctionType):
        return "lower" in vars(function)  # The result of `jax.pmap` has no `trace`.
    if isinstance(function, MethodType):
        return is_compiled_function(function.__func__)
    if isinstance(function, functools.partial):
        return is_compiled_function(function.func)
    return _is_compiled_type(type(function))


@functools.lru_cache(maxsize=1024)
def _is_compiled_type(kind: type) -> bool:
    return issubclass(kind, jax.stages.Compiled) or (hasattr(kind, "lower") and hasattr(kind, "trace"))
