"""What a program computes on the host, by NumPy and from XLA's own memory, where that is cheaper than to compile it.

By the call that `jax.experimental.buffer_callback` is made of. Only in programs of one CPU device: from other devices the
arrays would have to be fetched, and of several each has a part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jax._src import core, sharding_impls
from jax._src.interpreters import mlir
from jax.extend import core as jax_core

from jax_debug_widgets._jax.emit import emit_host_call

if TYPE_CHECKING:
    import jax

_TARGET = "xla_buffer_python_cpu_callback"

_READABLE = frozenset("biufc")
"""The kinds of dtypes of which NumPy can read the memory; JAX's others are read on the device."""

host_p = jax_core.Primitive("computed_on_host")


def computed_on_host(
    host: Callable[..., None], device: Callable[..., jax.Array], arrays: Sequence[jax.Array], shape: tuple[int, ...]
) -> jax.Array:
    """float32[shape]: what `host(result, *arrays)` writes there, or, where it cannot be called, `device(*arrays)`."""
    return host_p.bind(*arrays, host=host, device=device, shape=shape)


@host_p.def_abstract_eval
def _abstract_eval(*_avals: Any, shape: tuple[int, ...], **_rest: Any) -> Any:
    return core.ShapedArray(shape, np.dtype(np.float32))


def _lower(ctx: Any, *operands: Any, device: Any, **_rest: Any) -> Sequence[Any]:
    return mlir.lower_fun(device, multiple_results=False)(ctx, *operands)


def _lower_on_cpu(ctx: Any, *operands: Any, host: Any, device: Any, **_rest: Any) -> Sequence[Any]:
    context = ctx.module_context.axis_context
    alone = isinstance(context, sharding_impls.ShardingContext) and context.num_devices == 1
    if not alone or any(aval.dtype.kind not in _READABLE for aval in ctx.avals_in):
        return _lower(ctx, *operands, device=device)

    def fill(_context: Any, *buffers: Any) -> tuple[()]:
        *arrays, result = map(np.asarray, buffers)
        host(result, *arrays)
        return ()

    return emit_host_call(ctx, _TARGET, fill, operands, has_side_effect=False).results


mlir.register_lowering(host_p, _lower)
mlir.register_lowering(host_p, _lower_on_cpu, platform="cpu", cacheable=False)
