"""Replace JAX's rules for callbacks with results while a capture is on; report the error when JAX refuses one.

`passes/program.py` taps the custom calls themselves. This module handles un-jitted callbacks, the places of calls in
derivative rules, the callbacks that JAX eliminates before it compiles, and the errors of transformations without a
rule.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol

from jax.extend.core import ClosedJaxpr

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.private import (
    ad,
    conditionals,
    core,
    debugging,
    dispatch,
    loops,
    mlir,
    pxla,
    source_info_util,
)
from jax_debug_widgets._jax.compat.private import callback as jax_callback
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing
from jax_debug_widgets._jax.origins.describe import function_name, is_breakpoint
from jax_debug_widgets._jax.origins.equation import DebugCall, Lanes, Recorder
from jax_debug_widgets._jax.origins.frames import Frame, called_from_here, calling_frame, frame_of, frames_of
from jax_debug_widgets._jax.origins.python_loops import loops_now
from jax_debug_widgets._jax.passes.callbacks import (
    UnjittedCall,
    describe_sharding,
    has_callbacks,
    lanewise,
    taps_of_callbacks,
    without_lanes,
)
from jax_debug_widgets._jax.passes.inventory import equations_in

Reason = Literal["vmap", "vmap of cond", "vmap of while", "jvp", "transpose", "devices", "partly manual"]
"""The reason why JAX refuses a callback: a transformation, or a program on several devices."""

_ENTRY_POINTS = ("pure_callback", "io_callback")


@dataclass(frozen=True)
class Refusal:
    """Describes the exception `error` that JAX is about to raise because of a callback of the user.

    Attributes:
      primitive: `pure_callback`, `io_callback`, `debug_callback` or `debug_print`.
      ordered: whether the callback is called with `ordered=True`.
      frame: the user's frame that calls it.
      format: the name of the user's function, or the format of a print.
    """

    reason: Reason
    primitive: str
    ordered: bool
    frame: Frame
    format: str
    error: Exception


class Listener(Protocol):
    """Makes recorders and takes reports for the hooks."""

    def recorder_of(self, equation: DebugCall) -> Recorder:
        """Return the recorder of an un-jitted `inspect_array_sharding`."""
        ...

    def lowered(self, traced: Sequence[DebugCall], kept: Sequence[DebugCall]) -> None:
        """Called when a program was lowered.

        `traced` are its callbacks with results as traced, `kept` those left by JAX's dead-code elimination.
        """
        ...

    def refused(self, refusal: Refusal) -> None:
        """Called when JAX is about to raise."""
        ...


class CallbackHooks(Replacing):
    """Installs the hooks for callbacks; installing is counted, so that captures may nest and overlap.

    They lie on top of `Hooks`, which are installed first.
    """

    def __init__(
        self, listener: Listener, is_capturing: Callable[[], bool], leaves_out_debugging: Callable[[], bool]
    ) -> None:
        super().__init__()
        self._listener = listener
        self._is_capturing = is_capturing
        self._leaves_out_debugging = leaves_out_debugging
        self._traced = threading.local()
        self._local = threading.local()

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Report what JAX refuses in this thread, without capturing anything."""
        with self.in_place():
            self._local.explains = True
            try:
                yield
            finally:
                self._local.explains = False

    def is_explaining(self) -> bool:
        """Return whether the current thread is inside `explaining`."""
        return getattr(self._local, "explains", False)

    def _is_heard(self) -> bool:
        return self._is_capturing() or self.is_explaining()

    def _put_in(self, replace: Replacements) -> None:
        if not features.available(features.CALLBACKS):
            return
        derivatives: list[tuple[Reason, Any]] = [("jvp", ad.primitive_jvps), ("transpose", ad.primitive_transposes)]
        batched: list[tuple[Reason, Any]] = [("vmap of cond", conditionals.cond_p), ("vmap of while", loops.while_p)]
        for primitive in taps_of_callbacks():
            replace.attribute(primitive, "impl", partial(self._run, primitive), begins=True)
            replace.attribute(primitive, "bind", self._bind)
            replace.batcher(primitive, partial(self._batch, primitive))
            for reason, table in derivatives:
                replace.item(table, primitive, partial(self._derive, reason, primitive))
        for reason, primitive in batched:
            replace.batcher(primitive, partial(self._batch_control_flow, reason))
        replace.attribute(debugging.inspect_sharding_p, "impl", self._inspect)
        replace.attribute(debugging.inspect_sharding_p, "bind", self._bind_inspection)
        if features.available(features.ELIMINATED):
            replace.attribute(pxla, "_dce_jaxpr", self._eliminate)
            replace.attribute(pxla, "_cached_lowering_to_hlo", self._check_devices)
            replace.attribute(mlir, "lower_jaxpr_to_module", self._lower)

    def _run(self, primitive: Any, theirs: Any, *operands: Any, **params: Any) -> Callable[[], Any]:
        if not self._is_capturing():
            return partial(theirs, *operands, **params)
        # JAX compiles it once for all lines that call the same function; for us each line is a site.
        current = source_info_util.current()
        params, axes = without_lanes(params)
        found, iterations = loops_now()
        around = len(found) - axes
        at = UnjittedCall((frames_of(current.traceback), str(current.name_stack)), found[:around])
        tapped = taps_of_callbacks()[primitive]
        return partial(dispatch.apply_primitive, tapped, *operands, *iterations[:around], at=at, **params)

    def _bind(self, theirs: Any, *operands: Any, **params: Any) -> Any:
        caller = calling_frame().f_code
        called_by_user = caller.co_filename == jax_callback.__file__ and caller.co_name in _ENTRY_POINTS
        if not self._is_heard() or not called_by_user:
            return theirs(*operands, **params)
        if self._leaves_out_debugging() and is_breakpoint(params["callback"].callback_func):
            return list(operands[: len(params["result_avals"])])  # `jax.debug.breakpoint(token=x)` returns `x`.
        # In a derivative rule, JAX gives equations the place of the function's call: see `Hooks._bind`.
        with called_from_here():
            return theirs(*operands, **params)

    def _bind_inspection(self, theirs: Any, *operands: Any, **params: Any) -> Any:
        return [] if self._leaves_out_debugging() else theirs(*operands, **params)

    def _inspect(self, theirs: Any, value: Any, *, callback: Any) -> Any:
        if not self._is_capturing():
            return theirs(value, callback=callback)
        current = source_info_util.current()
        frame = frame_of(current.traceback)
        equation = describe_sharding({"callback": callback}, frame, str(current.name_stack), (), Lanes((), ()))
        return theirs(value, callback=self._listener.recorder_of(equation))

    def _eliminate(self, theirs: Any, closed_jaxpr: Any, *args: Any) -> Any:
        self._traced.program = closed_jaxpr if self._is_capturing() else None
        return theirs(closed_jaxpr, *args)

    def _lower(self, theirs: Any, module_name: str, jaxpr: Any, **options: Any) -> Any:
        traced, self._traced.program = getattr(self._traced, "program", None), None
        lowered = theirs(module_name, jaxpr, **options)
        if traced is not None and has_callbacks(traced.jaxpr):
            before, after = (list(equations_in(program, module_name)) for program in (traced, jaxpr))
            self._listener.lowered(before, after)
        return lowered

    def _batch(self, primitive: Any, theirs: Any, operands: Any, dims: Any, **params: Any) -> Any:
        if self._is_heard() and any(dim is not None for dim in dims):
            params = lanewise(params)
        with self._listening("vmap", primitive, params):
            return theirs(operands, dims, **params)

    def _derive(self, reason: Reason, primitive: Any, theirs: Any, *args: Any, **params: Any) -> Any:
        with self._listening(reason, primitive, params):
            return theirs(*args, **params)

    @contextmanager
    def _listening(self, reason: Reason, primitive: Any, params: dict[str, Any]) -> Iterator[None]:
        try:
            yield
        except (ValueError, NotImplementedError) as error:
            if self._is_heard():
                frame = frame_of(source_info_util.current().traceback)
                name = function_name(params["callback"].callback_func)
                ordered = params.get("ordered", False)
                self._listener.refused(Refusal(reason, primitive.name, ordered, frame, name, error))
            raise

    def _batch_control_flow(self, reason: Reason, theirs: Any, operands: Any, dims: Any, **params: Any) -> Any:
        try:
            return theirs(operands, dims, **params)
        except Exception as error:  # JAX raises a bare `Exception` for `while`.
            if self._is_heard() and "IO effect" in str(error):
                programs = [ClosedJaxpr(jaxpr, ()) for jaxpr in core.jaxprs_in_params(params)]
                self._refuse(reason, "io_callback", programs, lambda equation: equation.kind == "io", error)
            raise

    def _check_devices(self, theirs: Any, closed_jaxpr: Any, module_name: Any, *args: Any, **options: Any) -> Any:
        try:
            return theirs(closed_jaxpr, module_name, *args, **options)
        except (ValueError, NotImplementedError) as error:
            # JAX raises these before it lowers the program, or while it lowers one of the callbacks.
            if self._is_heard() and "ordered effects are not supported" in str(error):
                self._refuse("devices", "debug_callback", [closed_jaxpr], _is_ordered_debugging, error)
            elif self._is_heard() and "no partial automatic sharding" in str(error):
                self._refuse("partly manual", "callback", [closed_jaxpr], lambda one: one.kind in ("pure", "io"), error)
            raise
        finally:
            # JAX does not call `_lower` for a program that it has lowered before: forget its trace before the next one.
            self._traced.program = None

    def _refuse(
        self,
        reason: Reason,
        primitive: str,
        programs: Sequence[Any],
        chosen: Callable[[DebugCall], bool],
        error: Exception,
    ) -> None:
        """Report each of the chosen calls in these programs: JAX does not say which of them caused the error."""
        for equation in (one for program in programs for one in equations_in(program, "jit(f)") if chosen(one)):
            name = _PRIMITIVES.get(equation.kind, primitive)
            self._listener.refused(Refusal(reason, name, equation.ordered, equation.frame, equation.format, error))


_PRIMITIVES = {"pure": "pure_callback", "io": "io_callback", "print": "debug_print", "log": "debug_print"}


def _is_ordered_debugging(equation: DebugCall) -> bool:
    return equation.ordered and equation.kind != "io"
