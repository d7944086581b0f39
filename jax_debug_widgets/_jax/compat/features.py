"""Which of JAX's private names are there: asked once, answered with a sentence where one is missing."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import jax

_NEEDED = {
    "capturing jax.debug.print and jax.debug.callback": (
        "jax._src.debugging.debug_print_p",
        "jax._src.debugging.debug_callback_p",
        "jax._src.debugging._debug_partial_eval_custom",
        "jax._src.interpreters.mlir.lower_jaxpr_to_module",
        "jax._src.interpreters.batching.fancy_primitive_batchers",
        "jax._src.callback._get_sdy_array_list_for_callbacks",
        "jax._src.array.ArrayImpl",
        "jax._src.shard_map.eager_rules",
        "jax._src.config.disable_jit",
        "jax._src.config.explicit_device_put_scope",
        "jax._src.config.transfer_guard_host_to_device",
        "jax._src.config.transfer_guard_device_to_host",
        "jax._src.ffi.build_ffi_lowering_function",
        "jax._src.source_info_util.user_frames",
        "jax._src.source_info_util._source_info_context",
    ),
    "capturing callbacks with results": (
        "jax._src.callback.pure_callback_p",
        "jax._src.callback.io_callback_p",
        "jax._src.callback.pure_callback_impl",
        "jax._src.callback.io_callback_impl",
        "jax._src.callback.emit_python_callback",
        "jax._src.callback._callback_op_sharding",
        "jax._src.callback._OrderedIOEffect",
        "jax._src.debugging.inspect_sharding_p",
        "jax._src.dispatch.prim_requires_devices_during_lowering",
        "jax._src.interpreters.ad.primitive_transposes",
    ),
    "saying which callbacks the compiler removed": (
        "jax._src.interpreters.pxla._dce_jaxpr",
        "jax._src.interpreters.pxla._cached_lowering_to_hlo",
    ),
    "marking phantoms": (
        "jax._src.interpreters.batching.batch_jaxpr",
        "jax._src.interpreters.partial_eval.trace_to_jaxpr_dynamic",
        "jax._src.core.mapped_aval",
        "jax._src.core.pvary",
        "jax._src.util.weakref_lru_cache",
    ),
    "saying what JAX moves out of a loop it differentiates": (
        "jax._src.interpreters.ad.primitive_linearizations",
        "jax._src.interpreters.partial_eval.custom_partial_eval_rules",
        "jax._src.interpreters.partial_eval.partial_eval_jaxpr_custom_rules",
        "jax._src.util.weakref_lru_cache",
    ),
    "saying who called what jax.checkpoint runs": (
        "jax._src.ad_checkpoint.remat_p",
        "jax._src.interpreters.partial_eval.custom_partial_eval_rules",
        "jax._src.source_info_util._source_info_context",
        "jax._src.source_info_util.NameStack",
    ),
    "naming what the rules of custom_jvp, custom_vjp and custom_vmap compute": (
        "jax._src.custom_batching.custom_vmap_p",
        "jax._src.interpreters.ad.JVPTrace.process_custom_jvp_call",
        "jax._src.interpreters.ad.JVPTrace.process_custom_vjp_call",
        "jax._src.interpreters.ad.LinearizeTrace.process_custom_jvp_call",
        "jax._src.interpreters.ad.LinearizeTrace.process_custom_vjp_call",
        "jax._src.linear_util.WrappedFun.wrap",
        "jax._src.source_info_util.NameStack",
    ),
    "telling Python's print while tracing": (
        "jax._src.core.trace_ctx",
        "jax._src.core.trace_state_clean",
        "jax._src.interpreters.partial_eval.DynamicJaxprTrace",
    ),
    "watching values by name": (
        "jax._src.interpreters.pxla._cached_lowering_to_hlo",
        "jax._src.source_info_util.raw_frame_to_frame",
        "jax._src.source_info_util.is_user_filename",
        "jax._src.core.jaxprs_in_params",
        "jax._src.core.new_jaxpr_eqn",
        "jax._src.core.extend_axis_env_nd",
        "jax._src.config._check_vma",
    ),
    "naming values as they are called while they are traced": (
        "jax._src.core.Var",
        "jax._src.interpreters.partial_eval.DynamicJaxprTrace",
        "jax._src.interpreters.partial_eval.DynamicJaxprTracer.val",
        "jax._src.interpreters.partial_eval.JaxprStackFrame.add_eqn",
        "jax._src.interpreters.partial_eval.JaxprStackFrame.to_jaxpr",
        "jax._src.interpreters.partial_eval.trace_to_jaxpr_dynamic",
        "jax._src.interpreters.ad.JVPTrace.process_primitive",
        "jax._src.interpreters.ad.LinearizeTrace.process_primitive",
        "jax._src.interpreters.ad.linearize",
        "jax._src.interpreters.ad.primitive_jvps",
        "jax._src.interpreters.ad.primitive_transposes",
        "jax._src.lax.lax.copy_p",
        "jax._src.source_info_util._source_info_context",
    ),
    "telling what jax.vjp and jax.linearize give": (
        "jax._src.interpreters.partial_eval.DynamicJaxprTrace",
        "jax._src.lax.lax.copy_p",
        "jax._src.api.VJP.__call__",
        "jax._src.api._lift_linearized",
    ),
    "naming what an un-jitted derivative of a jitted function gives beside its value": (
        "jax._src.pjit._pjit_linearize:num_primals_out",
        "jax._src.lax.control_flow.loops._scan_linearize:num_primals_out",
        "jax._src.interpreters.partial_eval.trace_to_jaxpr_dynamic",
    ),
    "naming the leaves of what equinox.filter_jit and flax.nnx.jit are given": ("jax._src.pjit.PjitParams",),
    "telling watched values by lane": (
        "jax._src.interpreters.batching.BatchTrace.process_primitive",
        "jax._src.interpreters.batching.BatchTrace.process_custom_jvp_call",
        "jax._src.interpreters.batching.BatchTrace.process_custom_vjp_call",
        "jax._src.interpreters.batching.BatchTracer",
    ),
    "telling the iterations of a while_loop under jax.disable_jit": ("jax._src.lax.control_flow.loops.tree_map",),
    "the debugger at jax.debug.breakpoint": (
        "jax._src.debugger.core._debugger_registry",
        "jax._src.debugger.core.DebuggerFrame",
        "jax._src.debugger.core.debug_lock",
        "jax._src.debugger.core.get_debugger",
        "jax._src.traceback_util.include_frame",
    ),
    "the debugger at jax.debug.breakpoint outside a capture": (
        "jax._src.debugging.debug_callback_p",
        "jax._src.debugging.debug_callback_impl",
        "jax._src.debugger.core.DebuggerFrame.from_frameinfo",
        "jax._src.interpreters.pxla.ExecuteReplicated.__call__",
    ),
    "running a program equation by equation": (
        "jax._src.core.eval_jaxpr",
        "jax._src.core.JaxprPpContext",
        "jax._src.core.pp_var",
        "jax._src.api_util.debug_info",
    ),
    "the life of calls and the effects barrier": (
        "jax._src.interpreters.pxla.ExecuteReplicated.__call__",
        "jax._src.api_util.InternalFloatingPointError",
        "jax._src.dispatch.runtime_tokens.output_runtime_tokens",
        "jax._src.pjit._get_fastpath_data",
    ),
    "captured prints without a call of the host": (
        "jax._src.pjit._pjit_call_impl_python",
        "jax._src.interpreters.pxla.lower_sharding_computation",
        "jax._src.interpreters.pxla._cached_lowering_to_hlo.cache_keys",
        "jax._src.interpreters.pxla.MeshExecutable.unsafe_call",
        "jax._src.interpreters.pxla.MeshExecutable.build_unsafe_call",
        "jax._src.pjit._get_fastpath_data",
        "jax._src.pjit._cpp_pjit_cache_fun_only",
        "jax._src.pjit._cpp_pjit_cache_explicit_attributes",
        "jax._src.tree_util.dispatch_registry",
        "jax._src.dispatch.RuntimeTokenSet.set_output_runtime_token",
        "jax._src.sharding_impls.UnspecifiedValue",
        "jax._src.util.weakref_lru_cache",
    ),
    "what a program says that was compiled ahead of time in a capture, where another or none calls it": (
        "jax._src.stages.Traced.lower",
        "jax._src.stages.Compiled.__call__:_call",
    ),
    "leaving what says nothing as it was compiled before": (
        "jax._src.pjit._infer_params_cached",
        "jax._src.pjit.PjitParams",
        "jax._src.pjit._resolve_and_lower",
        "jax._src.dispatch.xla_primitive_callable",
    ),
    "agreeing with the other processes of a job": (
        "jax._src.distributed.global_state.client",
        "jax._src.distributed.global_state.num_processes",
        "jax._src.distributed.global_state.process_id",
        "jax._src.xla_bridge.backends_are_initialized",
    ),
    "what loops say without a call of Python": (
        "jax._src.sharding_impls.ShardingContext",
        "jax._src.interpreters.mlir.ir_constant",
        "jax._src.ffi.build_ffi_lowering_function",
        "jax._src.lib.mlir.dialects.hlo.IfOp",
    ),
    "showing where the program waits": (
        "jax._src.dispatch.RuntimeTokenSet.block_until_ready",
        "jax._src.array.ArrayImpl.block_until_ready",
        "jax._src.lib.xla_client.batched_block_until_ready",
    ),
    "saying what debugging calls cost": (
        "jax._src.stages.Traced._params",
        "jax._src.interpreters.mlir._uncacheable_primitives",
        "jax._src.interpreters.mlir.ModuleContext.add_host_callback",
        "jax._src.debugging.debug_effect",
        "jax._src.debugging.ordered_debug_effect",
        "jax._src.callback._IOEffect",
        "jax._src.callback._OrderedIOEffect",
    ),
}
"""Feature -> the private names without which it cannot work; `function:name` is a variable of it, or an attribute it takes."""


def _exists(needed: str) -> bool:
    dotted, _, variable = needed.partition(":")
    parts = dotted.split(".")
    for split in range(len(parts) - 1, 0, -1):
        try:
            target = importlib.import_module(".".join(parts[:split]))
        except ImportError:
            continue
        for part in parts[split:]:
            if not hasattr(target, part):
                return False
            target = getattr(target, part)
        return not variable or _has_name(target, variable)
    return False


def _has_name(function: Any, name: str) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and name in (*code.co_varnames, *code.co_cellvars, *code.co_names)


@functools.cache
def missing() -> dict[str, str]:
    """Feature -> why it is off in the installed JAX; empty when all work."""
    reasons = {}
    for feature, names in _NEEDED.items():
        absent = [name for name in names if not _exists(name)]
        if absent:
            reasons[feature] = f"jax {jax.__version__} has no {', '.join(absent)}, so {feature} is off."
    return reasons


def available(feature: str) -> bool:
    """Whether `feature`, a key of the table above, works with the installed JAX.

    Raises:
      KeyError: no such feature.
    """
    _ = _NEEDED[feature]
    return feature not in missing()


CAPTURE = "capturing jax.debug.print and jax.debug.callback"
CALLBACKS = "capturing callbacks with results"
PHANTOMS = "marking phantoms"
HOISTING = "saying what JAX moves out of a loop it differentiates"
INLINING = "saying who called what jax.checkpoint runs"
RULES = "naming what the rules of custom_jvp, custom_vjp and custom_vmap compute"
TRACING = "telling Python's print while tracing"
WATCH = "watching values by name"
BINDINGS = "naming values as they are called while they are traced"
COPIES = "telling what jax.vjp and jax.linearize give"
KEPT = "naming what an un-jitted derivative of a jitted function gives beside its value"
GIVEN = "naming the leaves of what equinox.filter_jit and flax.nnx.jit are given"
LANES = "telling watched values by lane"
ELIMINATED = "saying which callbacks the compiler removed"
PYTHON_LOOPS = "telling the iterations of a while_loop under jax.disable_jit"
BREAKPOINTS = "the debugger at jax.debug.breakpoint"
UNCAPTURED = "the debugger at jax.debug.breakpoint outside a capture"
STEPPING = "running a program equation by equation"
CALLS = "the life of calls and the effects barrier"
WAITS = "showing where the program waits"
COST = "saying what debugging calls cost"
HANDOVER = "captured prints without a call of the host"
AHEAD = "what a program says that was compiled ahead of time in a capture, where another or none calls it"
UNTOUCHED = "leaving what says nothing as it was compiled before"
PROCESSES = "agreeing with the other processes of a job"
RINGS = "what loops say without a call of Python"
