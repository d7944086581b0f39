"""Emit a custom call that hands its operands to Python as raw NumPy arrays.

JAX's own lowering puts every operand back on a device before Python sees it and checks the results: 45 µs an event for
`debug.callback`. Our recorders need neither, so the custom call invokes them directly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets._jax.compat.private import callback as jax_callback
from jax_debug_widgets._jax.compat.private import (
    config,
    core,
    debugging,
    ffi,
    hlo,
    ir,
    mlir,
    sharding_impls,
    xla_client,
)
from jax_debug_widgets._jax.passes import device_rings, rings
from jax_debug_widgets._jax.passes.ring_records import ring_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jax_debug_widgets._jax.origins.equation import Recorder

_RAW_PLATFORMS = {"cpu": "cpu", "cuda": "gpu", "rocm": "gpu"}
"""Platform -> the infix of its custom call's name. Other platforms use JAX's own lowering."""

RINGS = {"cpu": rings, "cuda": device_rings}
"""Platform -> the module that makes rings for its programs. Other platforms have none."""


def emit_recorder_call(
    ctx: Any, record: Recorder, operands: Sequence[Any], *, ordered: bool, partitioned: bool
) -> list[Any]:
    """Lower one debugging equation to a call of `record` or a write into a ring; ordered ones pass on JAX's token."""
    effect = debugging.ordered_debug_effect if ordered else debugging.debug_effect
    axis_context = ctx.module_context.axis_context
    if _is_partial_auto(axis_context) or _platform(ctx) not in _RAW_PLATFORMS:
        # JAX handles the gathering over automatic axes, and the transfers of a TPU.
        callback = _on_numpy(record)
        debugging.debug_callback_lowering(ctx, *operands, effect=effect, partitioned=partitioned, callback=callback)
        return []
    if not ordered:
        sharding = _unordered_sharding(axis_context, ctx.avals_out)
        kind: Any = None if partitioned else RINGS.get(_platform(ctx))
        ring = ring_of(ctx, record, kind.make_ring) if kind else None

        def emit_call(record: Recorder) -> None:
            _custom_call(ctx, record, operands, partitioned, sharding)

        if ring is None:
            emit_call(record)
        else:
            kind.emit_write(ctx, ring, record, operands, emit_call)
        return []
    token = ctx.tokens_in.get(effect)

    def record_with_token(token: np.ndarray, *arrays: np.ndarray) -> tuple[np.ndarray]:
        record(*arrays)
        return (token,)

    token_ctx = ctx.replace(avals_in=[core.abstract_token, *ctx.avals_in], avals_out=[core.abstract_token])
    (token,) = _custom_call(token_ctx, record_with_token, [token, *operands], partitioned, None)
    ctx.set_tokens_out(ctx.tokens_in.update_tokens(mlir.TokenSet({effect: token})))
    return []


def emit_conditional_call(ctx: Any, record: Recorder, operands: Sequence[Any]) -> list[Any]:
    """Lower a call of `record` with all operands but the first, a bool[], made where that is true.

    In the ring of a GPU, the kernel looks at the condition by itself.
    """
    wanted, *operands = operands
    ctx = ctx.replace(avals_in=ctx.avals_in[1:])
    if RINGS.get(_platform(ctx)) is device_rings:
        ring = ring_of(ctx, record, device_rings.make_ring)
        if isinstance(ring, device_rings.DeviceRing):
            device_rings.emit_write(ctx, ring, record, operands, wanted=wanted)
            return []
    branch = hlo.IfOp([], wanted)
    for region, is_taken in ((branch.true_branch, True), (branch.false_branch, False)):
        with ir.InsertionPoint(region.blocks.append()):
            if is_taken:
                emit_recorder_call(ctx, record, operands, ordered=False, partitioned=False)
            hlo.return_([])
    return []


def emit_answer_call(ctx: Any, answer: Any) -> Sequence[Any]:
    """Lower a question to the host: `answer()` returns one array of the equation's result type, in a tuple."""
    if _platform(ctx) in _RAW_PLATFORMS:
        sharding = _unordered_sharding(ctx.module_context.axis_context, ctx.avals_out)
        return _custom_call(ctx, answer, [], partitioned=False, sharding=sharding)
    results, _, _ = versions.emit_python_callback(
        ctx, answer, None, [], ctx.avals_in, ctx.avals_out, has_side_effect=True, returns_token=False
    )
    return results


def _custom_call(ctx: Any, function: Any, operands: Sequence[Any], partitioned: bool, sharding: Any) -> Sequence[Any]:
    infix = _RAW_PLATFORMS[_platform(ctx)]
    target = f"xla_ffi{'_partitioned' if partitioned else ''}_python_{infix}_callback"
    module = ctx.module_context
    module.add_host_callback(function)
    lower = ffi.build_ffi_lowering_function(target, has_side_effect=True)
    operation = lower(ctx, *operands, index=np.uint64(len(module.host_callbacks) - 1))
    if sharding is not None:
        versions.set_sharding(module, operation, sharding)
    return operation.results


def _platform(ctx: Any) -> str:
    platforms = ctx.module_context.platforms
    if len(platforms) > 1:
        msg = "multi-platform lowering for python_callback"
        raise NotImplementedError(msg)  # This is JAX's own message for its callbacks.
    return platforms[0]


def _is_partial_auto(axis_context: Any) -> bool:
    return isinstance(axis_context, sharding_impls.SPMDAxisContext) and bool(
        set(axis_context.mesh.axis_names) - axis_context.manual_axes
    )


def _unordered_sharding(axis_context: Any, avals_out: Sequence[Any]) -> Any:
    """Return the sharding of an unordered callback.

    JAX runs it on every device inside `shard_map`, else once on the whole value.
    """
    if isinstance(axis_context, sharding_impls.SPMDAxisContext):
        if config.use_shardy_partitioner.value:
            return jax_callback._get_sdy_array_list_for_callbacks(avals_out)
        return _op_sharding("MANUAL")
    if isinstance(axis_context, sharding_impls.ShardingContext):
        if config.use_shardy_partitioner.value:
            whole = sharding_impls.SdyArray(mesh_shape=(), dim_shardings=(), logical_device_ids=(0,))
            return sharding_impls.SdyArrayList((whole,))
        return _op_sharding("MAXIMAL")
    return None


def _op_sharding(kind: str) -> Any:
    sharding = xla_client.OpSharding()
    sharding.type = getattr(xla_client.OpSharding.Type, kind)
    if kind == "MAXIMAL":
        sharding.tile_assignment_dimensions, sharding.tile_assignment_devices = [1], [0]
    return sharding


def _on_numpy(record: Recorder) -> Any:
    def callback(*arrays: Any) -> None:
        record(*(np.asarray(array) for array in arrays))

    return callback
