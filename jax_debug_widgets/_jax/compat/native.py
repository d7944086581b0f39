"""Define a primitive that runs a compiled function of ours inside a program, on XLA's memory and without Python.

This works on the CPU and with CUDA, and only where a device has the whole array. If XLA's partitioner splits a value over
several devices, a call of ours would make XLA gather the parts.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jax.extend import core as jax_core

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.cuda import CudaError
from jax_debug_widgets._jax.compat.private import core, ffi, mlir, sharding_impls
from jax_debug_widgets._jax.compat.registrations import register_all, registers
from jax_debug_widgets._jax.compat.uninterrupted import uninterrupted

if TYPE_CHECKING:
    import jax

native_p = jax_core.Primitive("computed_natively")
native_p.multiple_results = True

_importing: dict[str, tuple[float, Any]] = {}
"""The modules that are being imported: when each import began, by `time.monotonic`, and the listener to Numba's compiler."""

_REPORTED_AFTER_S = 1.5


class _Waits(threading.local):
    """When each wait of this thread for Numba to be loaded and to compile ended, by `time.monotonic`, and its seconds."""

    def __init__(self) -> None:
        self.ended: list[tuple[float, float]] = []


_waits = _Waits()

_known: dict[str, bool] = {}
"""For each module asked for: whether it could be imported. A module whose import an interrupt broke off is not in it."""

_lock = threading.RLock()


def importable(module: str, what: str) -> bool:
    """Import a module that needs Numba; return whether that worked.

    If Numba is installed but fails, warn with the sentence `what`.
    """
    with _lock:  # If two threads imported Numba at once, one could see half of it.
        if module not in _known:
            _known[module] = _import(module, what)
        return _known[module]


def _import(module: str, what: str) -> bool:
    if importlib.util.find_spec("numba") is None:
        return False
    began = time.monotonic()
    try:
        with uninterrupted():
            _import_numba()
        event = importlib.import_module("numba.core.event")
        listener = event.RecordingListener()
        _importing[module] = time.monotonic(), listener
        with event.install_listener("numba:run_pass", listener):
            importlib.import_module(module)
    except Exception as error:  # noqa: BLE001 - callers can do without Numba, whatever is wrong with it.
        missing = "CUDA" if isinstance(error, CudaError) else "Numba"
        warnings.warn(f"{missing} cannot be used, so {what}: {error}", stacklevel=4)
        return False
    finally:
        _importing.pop(module, None)
        now = time.monotonic()
        _waits.ended.append((now, now - began))
    return True


def _import_numba() -> None:
    """Import Numba; import all of it anew if an earlier import was broken off, by an interrupt or a time limit.

    Python keeps the submodules that were imported by then. A new `numba` has no attributes for them: `numba.core` is missing.
    """
    if "numba" not in sys.modules:
        for name in [name for name in sys.modules if name.startswith("numba.")]:
            del sys.modules[name]
    importlib.import_module("numba")


def numba_compiles() -> bool:
    """Whether an import lasts longer than `_REPORTED_AFTER_S` because Numba compiles; loading from its cache does not count."""
    return any(
        each.buffer and time.monotonic() - since > _REPORTED_AFTER_S for since, each in list(_importing.values())
    )


def seconds_waited(within: float) -> float:
    """Return the seconds that this thread has waited for Numba in a stage that took the last `within` seconds; forget them.

    What ended earlier is of the stage around it: while a program is prepared, small functions are traced.
    """
    begin = time.monotonic() - within
    earlier = [one for one in _waits.ended if one[0] < begin]
    seconds = sum(one for _, one in _waits.ended[len(earlier) :])
    _waits.ended = earlier
    return seconds


def computed_natively(
    target: str | None,
    arrays: Sequence[jax.Array],
    shape: tuple[int, ...],
    otherwise: Callable[..., Sequence[jax.Array]],
    *,
    together: bool = False,
    on_cuda: tuple[str, int] | None = None,
    dtype: Any = np.float32,
) -> Sequence[jax.Array]:
    """Call the XLA custom call `target`: for each array, or once for all if `together`; each result is `dtype[shape]`.

    Where `target` cannot run (another platform, an array split over devices, `target` None), run `otherwise(*arrays)`.

    Args:
      on_cuda: a custom call of the CUDA backend that does the same for all arrays together, and the size of its second result,
        float32[size], which is its scratch.
    """
    register_all()
    params = {"target": target, "shape": shape, "otherwise": otherwise, "together": together, "on_cuda": on_cuda}
    return native_p.bind(*arrays, dtype=np.dtype(dtype), **params)


@native_p.def_abstract_eval
def _abstract_eval(*arrays: Any, shape: tuple[int, ...], dtype: Any, together: bool, **_rest: Any) -> Any:
    return [core.ShapedArray(shape, dtype)] * (1 if together else len(arrays))


def _lower(ctx: Any, *operands: Any, otherwise: Any, **_rest: Any) -> Sequence[Any]:
    # Only shapes and dtypes are traced: with explicit or manual mesh axes, the types hold shardings that do not fit here.
    plain = [core.ShapedArray(one.shape, one.dtype) for one in ctx.avals_in]
    return mlir.lower_fun(otherwise, multiple_results=True)(ctx.replace(avals_in=plain), *operands)


def _lower_on_cpu(ctx: Any, *operands: Any, target: str | None, together: bool, **rest: Any) -> Sequence[Any]:
    if target is None or not _is_whole(ctx.module_context.axis_context):
        return _lower(ctx, *operands, **rest)
    emit = ffi.build_ffi_lowering_function(target)
    if together:
        return emit(ctx, *operands).results
    each = zip(ctx.avals_in, ctx.avals_out, operands, strict=True)
    return [emit(ctx.replace(avals_in=[array], avals_out=[out]), one).result for array, out, one in each]


def _lower_on_cuda(ctx: Any, *operands: Any, on_cuda: tuple[str, int] | None, **rest: Any) -> Sequence[Any]:
    if on_cuda is None or not _is_whole(ctx.module_context.axis_context):
        return _lower(ctx, *operands, **rest)
    target, size = on_cuda
    scratch = core.ShapedArray((size,), np.dtype(np.float32))
    emit = ffi.build_ffi_lowering_function(target)
    return emit(ctx.replace(avals_out=[*ctx.avals_out, scratch]), *operands).results[:1]


def _is_whole(axis_context: Any) -> bool:
    if isinstance(axis_context, sharding_impls.ShardingContext):
        return axis_context.num_devices == 1
    if isinstance(axis_context, sharding_impls.SPMDAxisContext):
        return axis_context.manual_axes == frozenset(axis_context.mesh.axis_names)
    return False


@registers(features.WATCH)
def _register() -> None:
    mlir.register_lowering(native_p, _lower)
    mlir.register_lowering(native_p, _lower_on_cpu, platform="cpu")
    mlir.register_lowering(native_p, _lower_on_cuda, platform="cuda")
