"""Which of JAX's private names are there: asked once, answered with a sentence where one is missing."""

from __future__ import annotations

import functools
import importlib

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
    "the life of calls and the effects barrier": (
        "jax._src.interpreters.pxla.ExecuteReplicated.__call__",
        "jax._src.dispatch.runtime_tokens.output_runtime_tokens",
    ),
}
"""Feature -> the private names without which it cannot work."""


def _exists(dotted: str) -> bool:
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
        return True
    return False


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
ELIMINATED = "saying which callbacks the compiler removed"
CALLS = "the life of calls and the effects barrier"
