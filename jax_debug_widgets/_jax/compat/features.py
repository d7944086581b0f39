"""Find out which features work with the installed JAX; for each that does not, return a sentence with the reason.

`NEEDED` lists the names that each feature needs. If JAX renames one of them, or changes its parameters, that feature is off
and the others work. Without `CAPTURE` nothing is captured at all.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax

from jax_debug_widgets._jax.compat import private, versions
from jax_debug_widgets._jax.compat.parameters import parameters_of
from jax_debug_widgets._jax.compat.private import MissingNameError

CAPTURE = "capturing jax.debug.print and jax.debug.callback"
CALLBACKS = "capturing callbacks with results"
ELIMINATED = "reporting which callbacks the compiler removed"
INVENTORY = "listing the callbacks of a function that does not run"
STOPS = "stopping at jax_debug_widgets.breakpoint"
BREAKPOINTS = "the debugger at jax.debug.breakpoint"
UNCAPTURED = "the debugger at jax.debug.breakpoint outside a capture"
STEPPING = "running a program equation by equation"
CALLS = "the stages of calls and the effects barrier"
WAITS = "showing where the program waits"
COST = "measuring what debugging calls cost"
TRACING = "showing Python's print while JAX traces"
PHANTOMS = "marking phantoms"
HOISTING = "reporting what JAX moves out of a loop that it differentiates"
INLINING = "showing the callers of functions that jax.checkpoint runs"
RULES = "naming the values in rules of custom_jvp, custom_vjp and custom_vmap"
PYTHON_LOOPS = "counting the iterations of a while_loop under jax.disable_jit"
WATCH = "watching values by name"
BINDINGS = "naming values by the variables of the traced function"
COPIES = "naming the results of jax.vjp and jax.linearize"
KEPT = "naming the results that an un-jitted derivative of a jitted function has beside its value"
GIVEN = "naming the leaves of the arguments of equinox.filter_jit and flax.nnx.jit"
LANES = "watching values by lane"
HANDOVER = "captured prints without a call of the host"
AHEAD = "prints of a program that was compiled ahead of time in one capture and is called in another one, or in none"
INPUTS = "keeping the inputs of calls"
CALL_PROGRAMS = "showing which program a call has run"
TWINS = "running a watched copy beside a program"
RETRACED = "running JAX's cached program where a global has changed"
RETRACES = "explaining why functions are traced again"
MISSES = "explaining by jax_explain_cache_misses what plain JAX would trace again"
UNTOUCHED = "running programs without prints as they were compiled before"
FRAMES = "keeping our frames out of what JAX shows"
PROCESSES = "agreeing with the other processes of a job"
DERIVATIVES = "finding the operation that makes a NaN in an un-jitted derivative"
PRECISION = "finding where 64-bit numbers become 32-bit ones"
INDEXING = "finding un-jitted indices out of bounds, and updates whose result is dropped"
RINGS = "prints and watched values of loops without calls of Python"

NEEDED: dict[str, dict[str, str]] = {
    CAPTURE: {
        "array": "ArrayImpl",
        "callback": "_get_sdy_array_list_for_callbacks emit_python_callback",
        "config": "explicit_device_put_scope use_shardy_partitioner",
        "core": "abstract_token extend_axis_env_nd physical_aval",
        "debugging": "OrderedDebugEffect _debug_partial_eval_custom debug_callback_lowering debug_callback_p debug_effect "
        "debug_print_p ordered_debug_effect debug_callback_impl(*, callback, effect, partitioned) "
        "debug_print_impl(*, fmt, ordered, partitioned, in_tree, static_args, np_printoptions, has_placeholders)",
        "discharge": "register_discharge_rule",
        "effects": "JaxprInputEffect ordered_effects",
        "linear_util": "wrap_init",
        "mesh": "empty_abstract_mesh empty_concrete_mesh get_concrete_mesh",
        "mlir": "lower_jaxpr_to_module(module_name, jaxpr, *, axis_context, platforms) set_sharding",
        "shard_map": "eager_rules[debug_print](mesh) eager_rules[debug_callback](mesh)",
        "sharding_impls": "SPMDAxisContext SdyArray SdyArrayList ShardingContext UNSPECIFIED",
        "source_info_util": "_source_info_context is_user_filename",
        "xla_client": "OpSharding Traceback.code_addr2location batched_device_put",
    },
    CALLBACKS: {
        "callback": "_IOEffect _OrderedIOEffect _callback_op_sharding emit_python_callback io_callback_p pure_callback_p "
        "io_callback_impl(*, result_avals, callback, sharding, ordered) "
        "pure_callback_impl(*, result_avals, callback, sharding)",
        "debugging": "inspect_sharding_p",
        "dispatch": "apply_primitive(prim) prim_requires_devices_during_lowering",
    },
    ELIMINATED: {"pxla": "_dce_jaxpr(closed_jaxpr) _cached_lowering_to_hlo(closed_jaxpr, module_name)"},
    INVENTORY: {"core": "shaped_abstractify", "mlir": "_uncacheable_primitives ModuleContext.add_host_callback"},
    STOPS: {"callback": "_callback_op_sharding", "traceback_util": "include_frame"},
    BREAKPOINTS: {"debugger": "DebuggerFrame _debugger_registry debug_lock get_debugger"},
    UNCAPTURED: {"debugger": "DebuggerFrame.from_frameinfo(frame_info)"},
    STEPPING: {"config": "traceback_filtering", "core": "JaxprPpContext pp_var"},
    CALLS: {
        "api_util": "InternalFloatingPointError",
        "dispatch": "runtime_tokens.current_tokens runtime_tokens.output_runtime_tokens",
        "monitoring": "unregister_event_duration_listener",
        "pjit": "_get_fastpath_data(executable)",
        "pxla": "ExecuteReplicated.__call__ ExecuteReplicated.__init__:has_host_callbacks "
        "ExecuteReplicated.__init__:has_unordered_effects ExecuteReplicated.__init__:keepalive "
        "ExecuteReplicated.__init__:ordered_effects",
    },
    WAITS: {
        "array": "ArrayImpl.block_until_ready",
        "dispatch": "RuntimeTokenSet.block_until_ready()",
        "xla_client": "batched_block_until_ready",
    },
    COST: {"callback": "_IOEffect _OrderedIOEffect", "stages": "Traced._params"},
    TRACING: {"core": "trace_ctx.trace trace_state_clean", "pe": "DynamicJaxprTrace"},
    PHANTOMS: {
        "batching": "batch_jaxpr(closed_jaxpr, axis_data, in_batched, instantiate) "
        "fancy_primitive_batchers[cond](axis_data, args, dims, branches) "
        "fancy_primitive_batchers[while](axis_data, args, dims, cond_nconsts, cond_jaxpr, body_nconsts, body_jaxpr)",
        "core": "pvary",
    },
    HOISTING: {
        "ad": "primitive_linearizations[scan](*, jaxpr, length)",
        "pe": "custom_partial_eval_rules[scan](*, jaxpr, length) "
        "partial_eval_jaxpr_custom_rules[scan](saveable, unks_in, inst_in, eqn)",
    },
    INLINING: {"ad_checkpoint": "remat_p", "pe": "custom_partial_eval_rules[remat2](trace)"},
    RULES: {
        "ad": "LinearizeTrace.process_custom_jvp_call(prim|primitive, fun, f_jvp|jvp) "
        "LinearizeTrace.process_custom_vjp_call(prim|primitive, fun, fwd, bwd) "
        "JVPTrace.process_custom_jvp_call(prim|primitive, fun, f_jvp|jvp) "
        "JVPTrace.process_custom_vjp_call(prim|primitive, fun, fwd, bwd)",
        "custom_batching": "custom_vmap_p",
        "linear_util": "WrappedFun.wrap",
    },
    PYTHON_LOOPS: {"config": "disable_jit", "loops": "tree_map"},
    WATCH: {
        "config": "_check_vma",
        "core": "closed_call_p pvary",
        "pxla": "_cached_lowering_to_hlo(closed_jaxpr, module_name, *, num_devices)",
    },
    BINDINGS: {
        "ad": "LinearizeTracer linearize(traceable, primals|primals_ft) "
        "LinearizeTrace.process_primitive(primitive, args|tracers) "
        "LinearizeTrace.process_custom_jvp_call(prim|primitive, fun, f_jvp|jvp, tracers) "
        "LinearizeTrace.process_custom_vjp_call(prim|primitive, fun, fwd, bwd, tracers) "
        "JVPTrace.process_primitive(primitive, tracers) "
        "JVPTrace.process_custom_jvp_call(prim|primitive, fun, f_jvp|jvp, tracers) "
        "JVPTrace.process_custom_vjp_call(prim|primitive, fun, fwd, bwd, tracers)",
        "pe": "DynamicJaxprTrace DynamicJaxprTracer.val JaxprStackFrame.add_eqn(eqn) JaxprStackFrame.to_jaxpr",
    },
    COPIES: {
        "ad": "linearize(traceable, primals|primals_ft)",
        "api": "VJP.__call__ _jvp(fun, primals, tangents) _lift_linearized",
        "core": "trace_ctx.trace",
        "pe": "DynamicJaxprTrace",
    },
    KEPT: {"loops": "_scan_linearize:num_primals_out", "pjit": "_pjit_linearize:num_primals_out"},
    GIVEN: {"pjit": "PjitParams"},
    LANES: {
        "batching": "BatchTracer BatchTrace.process_primitive BatchTrace.process_custom_jvp_call "
        "BatchTrace.process_custom_vjp_call"
    },
    HANDOVER: {
        "dispatch": "runtime_tokens.set_output_runtime_token",
        "pjit": "_cpp_pjit_cache_explicit_attributes.clear _cpp_pjit_cache_fun_only.clear "
        "_get_fastpath_data(executable, out_tree, args_flat, out_flat, effects) _pjit_call_impl_python(*, jaxpr) "
        "_resolve_and_lower(*, jaxpr)",
        "pxla": "MeshExecutable.build_unsafe_call MeshExecutable.unsafe_call _cached_lowering_to_hlo.cache_keys "
        "lower_sharding_computation(closed_jaxpr, api_name, fun_name, in_shardings, out_shardings, in_layouts, "
        "out_layouts, donated_invars)",
        "tree_util": "dispatch_registry.register_node",
    },
    AHEAD: {"stages": "Compiled.__call__:_call Traced.lower"},
    UNTOUCHED: {
        "core": "trace_state_clean",
        "dispatch": "xla_primitive_callable(prim)",
        "pjit": "PjitParams _infer_params_cached _resolve_and_lower(*, jaxpr)",
    },
    FRAMES: {"source_info_util": "register_exclusion(path)", "traceback_util": "register_exclusion(path)"},
    RETRACES: {"pe": "DynamicJaxprTrace", "pjit": "_infer_params(fun, ji|jit_info, args, kwargs)"},
    INPUTS: {
        "core": "trace_state_clean()",
        "pjit": "_infer_params(fun, ji|jit_info, args, kwargs) _get_fastpath_data(executable) "
        "_pjit_call_impl_python(*, jaxpr)",
    },
    CALL_PROGRAMS: {"pjit": "_pjit_call_impl_python(*, jaxpr)"},
    TWINS: {
        "callback": "io_callback_p pure_callback_p",
        "core": "trace_state_clean()",
        "debugging": "debug_effect ordered_debug_effect",
        "pjit": "_infer_params(fun, ji|jit_info, args, kwargs) _get_fastpath_data(executable)",
    },
    RETRACED: {
        "config": "explain_cache_misses log_compiles",
        "pe": "DynamicJaxprTrace",
        "pjit": "PjitParams _get_fastpath_data(executable) _infer_params(fun, ji|jit_info, args, kwargs) _infer_params_cached "
        "_resolve_and_lower(*, jaxpr)",
        "util": "weakref_lru_cache",
    },
    DERIVATIVES: {
        "ad": "linearize(traceable, primals|primals_ft)",
        "api": "VJP.__call__",
        "core": "EvalTrace.process_primitive(primitive, args|tracers, params)",
    },
    PROCESSES: {
        "distributed": "global_state.client global_state.num_processes global_state.process_id",
        "pxla": "ExecuteReplicated._local_devices ExecuteReplicated.in_handler ExecuteReplicated.out_handler",
        "xla_bridge": "backends_are_initialized()",
    },
    PRECISION: {
        "dtypes": "_maybe_canonicalize_explicit_dtype(dtype)",
        "pjit": "_infer_params(fun, ji|jit_info, args, kwargs)",
    },
    INDEXING: {
        "array": "ArrayImpl.__getitem__",
        "array_methods": "_IndexUpdateRef.get _IndexUpdateRef.set _IndexUpdateRef.apply _IndexUpdateRef.add "
        "_IndexUpdateRef.subtract _IndexUpdateRef.multiply _IndexUpdateRef.mul _IndexUpdateRef.divide "
        "_IndexUpdateRef.power _IndexUpdateRef.min _IndexUpdateRef.max",
    },
    RINGS: {"hlo": "IfOp return_", "ir": "InsertionPoint"},
}
"""Feature -> module (see `private`) -> the names of it that the feature needs.

`A.b` is an attribute; `table[name]` is the rule for the primitive of that name; `f:name` is a variable or attribute in
`f`. `f(a, b|c, *, d)` is a function that we replace: its first parameters are these, and `d` is among the others.
"""

if versions.EXPLAINS_TRACES:
    NEEDED[MISSES] = {
        "config": "explain_cache_misses trace_context()",
        "pe": "explain(keys, fun, in_avals, debug_info) trace_to_jaxpr.cache_keys",
    }

_NAME = re.compile(r"(?P<path>[\w.]+)(?:\[(?P<key>\w+)\])?(?::(?P<variable>\w+))?(?:\((?P<parameters>[^)]*)\))?")


def available(feature: str) -> bool:
    """Whether `feature`, a key of `NEEDED`, works with the installed JAX.

    Raises:
      KeyError: no such feature.
    """
    _ = NEEDED[feature]
    return missing().keys().isdisjoint((feature, CAPTURE))


def why_off(feature: str) -> str:
    """Return the sentence that explains why `feature` is off; empty if it is available."""
    return missing().get(feature) or missing().get(CAPTURE, "")


@functools.cache
def missing() -> dict[str, str]:
    """Map each feature that is off in the installed JAX to the reason; empty if all work."""
    reasons = {}
    for feature, names in NEEDED.items():
        absent = [one for module, text in names.items() for one in _absent(module, text)]
        if absent:
            reasons[feature] = f"jax {jax.__version__} has no {', '.join(absent)}, so {feature} is off."
    return reasons


def names_of(text: str) -> Iterator[Mapping[str, str | None]]:
    """Yield `path`, `key`, `variable` and `parameters` of each name in a text of `NEEDED`; None if it has none."""
    yield from (found.groupdict() for found in _NAME.finditer(text))


def _absent(module: str, text: str) -> Iterator[str]:
    owner: Any = getattr(private, module)
    for found in _NAME.finditer(text):
        if not _exists(owner, **found.groupdict()):
            yield f"{private.path_of(owner)}.{found[0]}"


def _exists(owner: Any, path: str, key: str | None, variable: str | None, parameters: str | None) -> bool:
    target: Any = owner
    first, *inside = path.split(".")
    try:
        if parameters is not None and not key:  # A function of ours replaces it where JAX looks for it.
            target, first = private.place_of(owner, first)
        for part in (first, *inside):
            target = getattr(target, part)
        if key:
            target = next(rule for primitive, rule in target.items() if primitive.name == key)
    except (MissingNameError, AttributeError, StopIteration):
        return False
    return (variable is None or variable in _names_in(target)) and (
        parameters is None or _takes(parameters_of(target), re.split(r",\s*", parameters) if parameters else ())
    )


def _names_in(function: Any) -> tuple[str, ...]:
    code = getattr(function, "__code__", None)
    return () if code is None else (*code.co_varnames, *code.co_cellvars, *code.co_names)


def _takes(parameters: Sequence[str], needed: Sequence[str]) -> bool:
    """Whether a function has the needed parameters; True if its parameters are unknown."""
    own = [one for one in parameters if one != "self"]
    if not own:
        return True
    first, _, others = " ".join(needed).partition("*")
    leading = first.split()
    is_leading = len(own) >= len(leading) and all(
        name in one.split("|") for name, one in zip(own, leading, strict=False)
    )
    return is_leading and set(others.split()) <= set(own)
