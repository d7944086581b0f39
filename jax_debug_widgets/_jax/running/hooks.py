"""Replace JAX's rules for debugging primitives while a capture is on, and restore them.

JAX's user context (`jax.make_user_context`) is part of the key of its caches: a function called inside a capture is
traced and lowered once with our rules, and outside it its own executable runs untouched. The rules themselves are
process-wide, so each asks the context first: a thread that is not capturing gets JAX's own behaviour.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import lax

from jax_debug_widgets._jax.compat import features, versions
from jax_debug_widgets._jax.compat.private import (
    ad,
    ad_checkpoint,
    batching,
    core,
    debugging,
    mlir,
    pe,
    pjit,
    shard_map,
    source_info_util,
)
from jax_debug_widgets._jax.compat.registrations import register_all
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing
from jax_debug_widgets._jax.compat.uninterrupted import uninterrupted
from jax_debug_widgets._jax.origins import rules
from jax_debug_widgets._jax.origins.blocks import NO_BLOCK, Block, as_jax_would, blocks_of
from jax_debug_widgets._jax.origins.context import (
    captured_settings,
    is_captured_alone,
    is_capturing,
    leaves_out_debugging,
)
from jax_debug_widgets._jax.origins.equation import DebugCall, Guard, Lanes, Recorder, Recorders, Tapper, on_host
from jax_debug_widgets._jax.origins.frames import called_from_here, callers_now, calling_frame, frame_of
from jax_debug_widgets._jax.origins.inlining import evaluate_checkpointed, traceback_of
from jax_debug_widgets._jax.origins.kernel_prints import has_debugging
from jax_debug_widgets._jax.origins.python_loops import count_iterations, loops_now
from jax_debug_widgets._jax.passes.hoisting import differentiate_scan, recompute_scan
from jax_debug_widgets._jax.passes.phantoms import batch_cond, batch_while
from jax_debug_widgets._jax.passes.program import debugging_readers, has, with_recorders, without_debugging
from jax_debug_widgets._jax.passes.stop import debug_stop_p, describe_stop
from jax_debug_widgets._jax.passes.tap import bind_batched, debug_tap_p
from jax_debug_widgets._jax.passes.watch_tap import recorders_in

_ENTRY_POINTS = ("_debug_print", "_debug_callback", "debug_print", "debug_callback")
"""The functions inside `jax.debug.print` and `jax.debug.callback` that bind the primitive for the user."""


class Hooks(Replacing):
    """Installs our rules in JAX's tables; installing is counted, so that captures may nest and overlap.

    Attributes:
      left_out: called with the parts that a program lacks, because other processes may run it without a capture.
    """

    def __init__(self, tapper: Tapper, left_out: Callable[[str], None]) -> None:
        super().__init__()
        self._tapper = tapper
        self.left_out = left_out

    def _put_in(self, replace: Replacements) -> None:
        if not features.available(features.CAPTURE):
            return
        register_all()
        replace.attribute(mlir, "lower_jaxpr_to_module", self._lower, retries=True)
        count_iterations(replace)
        replace.attribute(debug_tap_p, "impl", self._run_tap, begins=True)
        replace.attribute(debug_stop_p, "impl", self._run_stop, begins=True)
        for primitive in debugging_readers():
            replace.attribute(primitive, "impl", partial(self._run, primitive), begins=True)
            replace.attribute(primitive, "bind", self._bind)
            replace.batcher(primitive, partial(self._batch, primitive), begins=True)
            replace.item(shard_map.eager_rules, primitive, partial(self._run_on_mesh, primitive), begins=True)
        if features.available(features.CALLS):
            replace.attribute(pjit, "_get_fastpath_data", _fast_path)
        if features.available(features.HOISTING):
            for table in (pe.custom_partial_eval_rules, ad.primitive_linearizations):
                replace.item(table, lax.scan_p, partial(_while_capturing, differentiate_scan), begins=True)
            ours = partial(_while_capturing, recompute_scan)
            replace.item(pe.partial_eval_jaxpr_custom_rules, lax.scan_p, ours, begins=True)
        if features.available(features.INLINING) and not versions.TRACEBACKS_LEAVE_THEIR_PROGRAM:
            ours = partial(_while_capturing, evaluate_checkpointed)
            replace.item(pe.custom_partial_eval_rules, ad_checkpoint.remat_p, ours, begins=True)
        if features.available(features.RULES) and not versions.TRACEBACKS_LEAVE_THEIR_PROGRAM:
            rules.put_in(replace)
        if features.available(features.PHANTOMS):
            for primitive, ours in ((lax.cond_p, batch_cond), (lax.while_p, batch_while)):
                rules_of, guarding = batching.fancy_primitive_batchers, partial(self._guard, ours)
                replace.item(rules_of, primitive, guarding, begins=True)

    def _guard(self, ours: Any, theirs: Any, *args: Any, **params: Any) -> Callable[[], Any]:
        if not is_captured_alone():
            return _while_capturing(ours, theirs, *args, **params)
        if any(map(has_debugging, core.jaxprs_in_params(params))):
            self.left_out("marks of the phantoms that `vmap` makes fire")
        return partial(theirs, *args, **params)

    def _lower(self, theirs: Any, module_name: str, jaxpr: Any, **options: Any) -> Any:
        if not is_capturing():
            return theirs(module_name, jaxpr, **options)
        recorders: list[Any] = [*recorders_in(jaxpr.jaxpr)]

        def make_recorder(equation: DebugCall) -> Recorder:
            recorders.append(self._tapper(equation, captured_settings()))
            return recorders[-1]

        devices = getattr(options["axis_context"], "num_devices", 1)
        with uninterrupted():
            program = without_debugging(jaxpr) if leaves_out_debugging() else jaxpr
            if is_captured_alone() and has(program.jaxpr, (debug_stop_p,)):
                self.left_out("stops at `jax_debug_widgets.breakpoint`")
            program = with_recorders(program, module_name, devices, make_recorder)
        lowered = theirs(module_name, program, **options)
        if not (recorders or jaxpr.effects or lowered.keepalive or lowered.host_callbacks):
            return lowered  # JAX can export and serialize only programs that keep nothing alive.
        # The executable keeps the recorders alive. They mark an execution that has recorders.
        kept = Recorders(recorders, fire_elsewhere=devices > 1 or tuple(options["platforms"]) != ("cpu",))
        return lowered._replace(keepalive=[*(lowered.keepalive or ()), kept])

    def _bind(self, theirs: Any, *operands: Any, **params: Any) -> Any:
        caller = calling_frame().f_code
        called_by_user = caller.co_filename == debugging.__file__ and caller.co_name in _ENTRY_POINTS
        if leaves_out_debugging():
            return []
        if not is_capturing() or not called_by_user:
            return theirs(*operands, **params)
        with called_from_here():
            return theirs(*operands, **params)

    def _batch(self, primitive: Any, theirs: Any, operands: Any, dims: Any, **params: Any) -> Callable[[], Any]:
        if not is_capturing() or all(dim is None for dim in dims):
            return partial(theirs, operands, dims, **params)
        if is_captured_alone():
            self.left_out("lanes of `vmap`")
            return partial(theirs, operands, dims, **params)
        return partial(bind_batched, primitive, params, operands, dims, Lanes((), ((),) * len(operands)))

    def _run(self, primitive: Any, theirs: Any, *operands: Any, **params: Any) -> Callable[[], Any]:
        # Programs that JAX lowered without our rules, such as those compiled ahead of time, call back from JAX's own
        # file.
        is_eager = calling_frame().f_code.co_filename != debugging.__file__
        if not is_capturing() or not is_eager:
            return partial(theirs, *operands, **params)
        return self._run_eagerly(primitive, operands, params, Lanes((), ((),) * len(operands)))

    def _run_on_mesh(self, primitive: Any, theirs: Any, mesh: Any, *operands: Any, **params: Any) -> Callable[[], Any]:
        """Run the equation for an un-jitted `shard_map`: for each device, with the device's block of each operand."""
        if not is_capturing():
            return partial(theirs, mesh, *operands, **params)
        with core.eval_context():
            lanes = Lanes((), ((),) * len(operands))
            runs = [
                self._run_eagerly(
                    primitive, block.values, params, lanes, block=block, own_way=as_jax_would(theirs, mesh, block)
                )
                for block in blocks_of(mesh, operands)
            ]

        def run() -> Any:
            with core.eval_context():
                for one in runs:
                    one()
            return []

        return run

    def _run_tap(self, theirs: Any, *operands: Any, **params: Any) -> Callable[[], Any]:
        if leaves_out_debugging():
            return list
        if not is_capturing():
            return partial(theirs, *operands, **params)
        inner, options, lanes, guards = (params[key] for key in ("inner", "params", "lanes", "guards"))
        if not guards:
            return self._run_eagerly(inner, operands, dict(options), lanes)
        guard = Guard(operands[-1], lanes.mapped[-1], guards)
        return self._run_eagerly(inner, operands[:-1], dict(options), Lanes(lanes.sizes, lanes.mapped[:-1]), guard)

    def _run_stop(self, theirs: Any, *operands: Any, **params: Any) -> Callable[[], Any]:
        spec, lanes = params["spec"], params["lanes"]
        if not is_capturing() or (spec.conditional and not np.any(operands[0])):
            return partial(theirs, *operands, **params)
        arrays = [np.asarray(operand) for operand in operands]
        current = source_info_util.current()
        equation = describe_stop(params, frame_of(current.traceback), str(current.name_stack), arrays, lanes)
        around, iterations = loops_now()
        equation = replace(equation, loops=around, in_python=bool(around))
        record = self._tapper(equation, captured_settings())

        def run() -> Any:
            before = zip(arrays[spec.going_on], operands[spec.going_on], record(*arrays, *iterations), strict=True)
            return [old if new is array else jax.device_put(new, old.sharding) for array, old, new in before]

        return run

    def _run_eagerly(
        self,
        primitive: Any,
        operands: Sequence[Any],
        params: Any,
        lanes: Lanes,
        guard: Guard | None = None,
        block: Block = NO_BLOCK,
        own_way: Callable[..., Any] | None = None,
    ) -> Callable[[], Any]:
        current = source_info_util.current()
        arrays, types = on_host(operands)
        equation = debugging_readers()[primitive](
            params, frame_of(current.traceback), str(current.name_stack), arrays, lanes
        )
        # This is JAX's own path to the user's function, so that the traceback of an exception has the same frames.
        if own_way is None:
            own_way = {debugging.debug_print_p: debugging.debug_print_impl}.get(
                primitive, debugging.debug_callback_impl
            )
        callers = callers_now(traceback_of(current))
        around, iterations = loops_now()
        equation = replace(
            equation,
            run=partial(own_way, **params),
            guard=guard,
            callers=callers,
            axes=block.axes,
            devices=block.devices,
            loops=around,
            in_python=bool(around),
        ).with_types(types)
        there = () if guard is None else (np.asarray(guard.operand),)
        record = self._tapper(equation, captured_settings())

        def run() -> Any:
            record(*arrays, *there, *iterations, *block.coordinates)
            return []

        return run


def _fast_path(theirs: Any, executable: Any, *args: Any, **options: Any) -> Any:
    """Return JAX's data for the C++ dispatch of a program; None if it calls Python, so that we see each call."""
    if getattr(getattr(executable, "unsafe_call", None), "has_host_callbacks", False) and is_capturing():
        return None
    return theirs(executable, *args, **options)


def _while_capturing(ours: Any, theirs: Any, *args: Any, **params: Any) -> Callable[[], Any]:
    return ours(theirs, *args, **params) if is_capturing() else partial(theirs, *args, **params)
