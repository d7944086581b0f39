"""Check un-jitted derivatives, such as `jax.grad(f)(x)`, for the operations where a NaN or an infinity arises.

JAX runs each operation of such a derivative as a program of its own, which shows nothing of what becomes of its result.
So the operations of one forward or backward pass are recorded together. They count if a result of the pass is not finite
although its inputs are. The records are computed beside the operations, and are read later. Nothing runs twice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.guard import ReportFailure, quiet
from jax_debug_widgets._jax.compat.private import ad, api, core, source_info_util
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing
from jax_debug_widgets._jax.origins.callers import callers_of_operation
from jax_debug_widgets._jax.origins.context import captured_settings, capturing
from jax_debug_widgets._jax.origins.frames import Frame
from jax_debug_widgets._jax.passes.birth_primitives import may_be_birth
from jax_debug_widgets._jax.passes.births import Birth
from jax_debug_widgets._jax.passes.checked import Checked, LanesOf, Recorded
from jax_debug_widgets._jax.passes.derivative_records import DerivativeCall, Operation, birth_record, worst_of_each
from jax_debug_widgets._jax.passes.watch_pass import is_jaxs

_here = threading.local()


@dataclass
class _Pass:
    """The operations of one forward or backward pass so far.

    Attributes:
      is_backward: which of the two it is.
      callers: the user frames that call it, innermost first.
      found: each operation with its frames, facts, and the record on the device.
      beside: line of the user -> the primitives that have run there.
      has_programs: whether jitted functions of the user, loops or branches ran in it, which are checked by themselves.
    """

    is_backward: bool
    callers: tuple[Frame, ...]
    found: list[tuple[str, tuple[Frame, ...], Birth, Any]] = field(default_factory=list[Any])
    beside: dict[Frame, set[str]] = field(default_factory=dict[Frame, set[str]])
    has_programs: bool = False


class _OperationHooks(Replacing):
    """Calls `ran` with each operation that runs un-jitted. They are installed only while a pass is recorded."""

    def __init__(self, ran: Callable[..., None]) -> None:
        super().__init__()
        self._ran = ran

    def _put_in(self, replace: Replacements) -> None:
        replace.attribute(core.EvalTrace, "process_primitive", self._operation)

    def _operation(self, theirs: Any, trace: Any, primitive: Any, args: Any, params: Any) -> Any:
        results = theirs(trace, primitive, args, params)
        own: _Pass | None = getattr(_here, "derivative", None)
        if own is not None:
            self._ran(own, primitive, args, params, results)
        return results


class DerivativeHooks:
    """The hooks that record un-jitted derivatives in a capture with the check `nonfinite`."""

    def __init__(
        self, found: Callable[[Recorded, Sequence[Any]], None], lanes_of: LanesOf, report: ReportFailure
    ) -> None:
        """Make the hooks, not yet installed; for `found` and `lanes_of` see `CheckHooks`."""
        self._found, self._lanes_of = found, lanes_of
        self._end = quiet(self._add_pass, report)
        self._operations = _OperationHooks(quiet(self._add_record, report))
        self._operations.failed = report
        self._forward: set[Frame] = set()

    def put_in(self, replace: Replacements) -> None:
        """Replace the functions of JAX that run the passes and their operations."""
        if features.available(features.DERIVATIVES):
            replace.attribute(ad, "linearize", self._linearize)
            replace.attribute(api.VJP, "__call__", self._pull_back)

    def _linearize(self, theirs: Any, function: Any, values: Any, *args: Any, **options: Any) -> Any:
        inputs = _arrays(values) if _is_checked() else None
        if not inputs:
            return theirs(function, values, *args, **options)
        with self._recording(is_backward=False) as own:
            made = theirs(function, values, *args, **options)
        results, _, _, residuals, *_ = made
        self._end(own, [*results, *residuals], inputs)
        return made

    def _pull_back(self, theirs: Any, pullback: Any, *cotangents: Any) -> Any:
        inputs, residuals = (_arrays(cotangents), _arrays(pullback)) if _is_checked() else (None, None)
        if not inputs or residuals is None:
            return theirs(pullback, *cotangents)
        with self._recording(is_backward=True) as own:
            made = theirs(pullback, *cotangents)
        # A residual that is not finite is reported by the forward pass, and what becomes of it is no cause.
        self._end(own, made, [*inputs, *residuals])
        return made

    @contextmanager
    def _recording(self, *, is_backward: bool) -> Iterator[_Pass]:
        before, own = getattr(_here, "derivative", None), _Pass(is_backward, callers_of_operation())
        _here.derivative = own
        try:
            with self._operations.in_place():
                yield own
        finally:
            _here.derivative = before

    def _add_record(self, own: _Pass, primitive: Any, args: Sequence[Any], params: Any, results: Any) -> None:
        inside = list(core.jaxprs_in_params(params))
        if inside and not (primitive.name in ("jit", "pjit") and all(map(is_jaxs, inside))):
            own.has_programs = True
            return
        frames = callers_of_operation()
        inputs = _real(args)
        if not frames or not inputs:
            return
        beside = own.beside.setdefault(frames[0], set())
        if not own.is_backward:
            self._forward.add(frames[0])
        operation = Operation(primitive.name, inside[0] if inside else None, [np.shape(one) for one in args])
        with _uncaptured():
            for at, out in enumerate(results if primitive.multiple_results else (results,)):
                name = operation.primitive_of(at)
                beside.add(name)
                if _is_real(out) and may_be_birth(name):
                    kinds, row = birth_record(out, inputs, elementwise=operation.is_elementwise(out.shape))
                    facts = self._facts(own, frames[0], out.shape, kinds)
                    own.found.append((name, frames, facts, row))

    def _facts(self, own: _Pass, frame: Frame, shape: tuple[int, ...], kinds: tuple[str, ...]) -> Birth:
        source = source_info_util.current()
        lanes = self._lanes_of(source.traceback, shape, str(source.name_stack).count("vmap("), frame)
        return Birth(
            shape,
            own.is_backward,
            frame in self._forward,
            differentiated=not own.is_backward,
            unjitted=True,
            beside=own.beside[frame],
            kinds=kinds,
            lanes=lanes,
        )

    def _add_pass(self, own: _Pass, results: Any, inputs: Sequence[Any]) -> None:
        made = _arrays(results)
        if not made or not own.callers:
            return
        with _uncaptured():
            numbers = worst_of_each([*made, *inputs])
        records = tuple(
            Checked("nonfinite", name, frames, facts, order) for order, (name, frames, facts, _) in enumerate(own.found)
        )
        counts = len(made), len(inputs)
        call = DerivativeCall(records, own.callers, counts, own.is_backward, own.has_programs)
        self._found(call, [*numbers, *(row for *_, row in own.found)])


def is_in_forward_pass() -> bool:
    """Whether the current thread runs a forward pass that is recorded."""
    own: _Pass | None = getattr(_here, "derivative", None)
    return own is not None and not own.is_backward


def _is_checked() -> bool:
    """Whether the current thread's capture checks for NaNs and infinities."""
    settings = captured_settings()
    return settings is not None and "nonfinite" in settings.check and jax.process_count() == 1


@contextmanager
def _uncaptured() -> Iterator[None]:
    """Run operations of ours: not recorded, not captured, and not traced into a program of the user."""
    before, _here.derivative = getattr(_here, "derivative", None), None
    try:
        with capturing(None), jax.ensure_compile_time_eval():
            yield
    finally:
        _here.derivative = before


def _arrays(tree: Any) -> list[Any] | None:
    """Return the real arrays among the leaves, without the tracers of `vmap`; None if one is traced into a program."""
    leaves = [_without_lanes(one) for one in jax.tree.leaves(list(tree) if hasattr(tree, "unflatten") else tree)]
    if any(isinstance(one, core.Tracer) for one in leaves):
        return None
    return _real(leaves)


def _without_lanes(value: Any) -> Any:
    while isinstance(value, core.Tracer) and hasattr(value, "batch_dim"):
        value = value.val
    return value


def _real(values: Sequence[Any]) -> list[Any]:
    """Return the arrays of real numbers among the values. JAX also passes single numbers with a dtype."""
    return [one if isinstance(one, jax.Array) else np.asarray(one, one.dtype) for one in values if _is_real(one)]


def _is_real(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    return dtype is not None and jax.dtypes.issubdtype(dtype, np.floating) and np.size(value) > 0
