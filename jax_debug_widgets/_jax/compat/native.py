"""What a program computes by a compiled function of our own, from XLA's own memory and without Python.

Only on the CPU, and only where the whole of an array is at hand: of a value that XLA's partitioner splits over several
devices each has a part, and a call of ours would make XLA bring them together.
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
from jax_debug_widgets._jax.compat.private import core, ffi, mlir, sharding_impls
from jax_debug_widgets._jax.compat.registrations import register_all, registers
from jax_debug_widgets._jax.compat.uninterrupted import uninterrupted

if TYPE_CHECKING:
    import jax

native_p = jax_core.Primitive("computed_natively")
native_p.multiple_results = True

_importing: dict[str, tuple[float, Any]] = {}
"""The modules that are being imported: since when, by `time.monotonic`, and what listens to Numba's compiler."""

_TOLD_AFTER_S = 1.5

_spent = threading.local()
"""`seconds`: of this thread, see `taken`."""


_known: dict[str, bool] = {}
"""The modules that were asked for: whether they could be imported. What was broken off is not among them."""

_lock = threading.RLock()


def importable(module: str, what: str) -> bool:
    """Whether a module that needs Numba can be imported; a warning says that not `what`, if Numba is there all the same."""
    with _lock:  # Of two threads that import Numba at once one may see half of it.
        if module not in _known:
            _known[module] = _import(module, what)
        return _known[module]


def _import(module: str, what: str) -> bool:
    if importlib.util.find_spec("numba") is None:
        return False
    try:
        with uninterrupted():
            _import_numba()
        event = importlib.import_module("numba.core.event")
        listener, since = event.RecordingListener(), time.monotonic()
        _importing[module] = since, listener
        with event.install_listener("numba:run_pass", listener):
            importlib.import_module(module)
        if listener.buffer:
            _spent.seconds = getattr(_spent, "seconds", 0.0) + time.monotonic() - since
    except Exception as error:  # noqa: BLE001 - it can be done without, whatever is wrong with Numba.
        warnings.warn(f"Numba cannot be used, so {what}: {error}", stacklevel=4)
        return False
    finally:
        _importing.pop(module, None)
    return True


def _import_numba() -> None:
    """Import Numba: all of it anew where an import was broken off, by an interrupt or a time limit, as nothing else mends that.

    Python keeps the parts that were imported by then. A new `numba` has no attributes for them: `numba.core` is missing.
    """
    if "numba" not in sys.modules:
        for name in [name for name in sys.modules if name.startswith("numba.")]:
            del sys.modules[name]
    importlib.import_module("numba")


def numba_compiles() -> bool:
    """Whether somebody waits for Numba to compile such a module; what its cache holds it loads."""
    return any(each.buffer and time.monotonic() - since > _TOLD_AFTER_S for since, each in list(_importing.values()))


def taken() -> float:
    """Seconds that this thread has waited for Numba to compile since this was asked last."""
    seconds = getattr(_spent, "seconds", 0.0)
    _spent.seconds = 0.0
    return seconds


def computed_natively(
    target: str | None,
    arrays: Sequence[jax.Array],
    shape: tuple[int, ...],
    otherwise: Callable[..., Sequence[jax.Array]],
    *,
    together: bool = False,
) -> Sequence[jax.Array]:
    """Of each array float32[shape]: what the XLA custom call `target` makes of it; or the one that it makes of all together.

    Where it is not to be had (other devices; None: nowhere), what `otherwise(*arrays)` makes of all of them.
    """
    register_all()
    return native_p.bind(*arrays, target=target, shape=shape, otherwise=otherwise, together=together)


@native_p.def_abstract_eval
def _abstract_eval(*arrays: Any, shape: tuple[int, ...], together: bool, **_rest: Any) -> Any:
    return [core.ShapedArray(shape, np.dtype(np.float32))] * (1 if together else len(arrays))


def _lower(ctx: Any, *operands: Any, otherwise: Any, **_rest: Any) -> Sequence[Any]:
    # Traced of shapes alone: where an axis of a mesh is explicit, or some are manual, types hold what only fits in there.
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
