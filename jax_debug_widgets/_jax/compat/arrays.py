"""Convert NumPy arrays from XLA to the `jax.Array`s that a user's callback expects, without waiting for XLA; and back.

`jax.device_put` of more than 100 KiB is queued on the thread pool that a blocked callback may be holding: with two
devices plain `jax.debug.callback` hangs there. A host array aligned to 64 bytes is handed over as it is, without a
copy and without the pool (jaxlib's `HostBufferSemantics.ZERO_COPY`), for every dtype.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import numpy as np

from jax_debug_widgets._jax.compat.private import config, core, xla_client

_ALIGNMENT = 64
"""The alignment in bytes below which the CPU client copies an array."""

_QUEUED = 100 << 10
"""The size in bytes up to which the CPU client copies at once, and above which it copies on the thread pool."""

_NO_GUARD = nullcontext()


def on_cpu(array: np.ndarray) -> Any:
    """Return `array` as a `jax.Array` on the first local CPU device, where JAX puts the arguments of callbacks.

    Raises:
      RuntimeError: no CPU backend.
    """
    device, sharding = cpu()
    host = array if array.nbytes <= _QUEUED else _aligned(array)
    # In JAX's own callbacks this is an explicit `jax.device_put`, which the user's transfer guard allows.
    is_guarded = config.transfer_guard_host_to_device.value not in (None, "allow")
    with config.explicit_device_put_scope() if is_guarded else _NO_GUARD:
        return xla_client.batched_device_put(_aval(array.shape, array.dtype), sharding, [host], [device], True)


def shown(array: np.ndarray) -> Any:
    """Put a recorded array on the CPU, as `on_cpu` does; the user's transfer guard does not apply."""
    with jax.transfer_guard_host_to_device("allow"):
        return on_cpu(array)


def begin_to_read(arrays: Sequence[Any]) -> None:
    """Start to copy arrays that programs compute for us from their device, without waiting; see `read`."""
    with _may_read():
        for one in arrays:
            one.copy_to_host_async()


def read(arrays: Sequence[Any]) -> list[np.ndarray]:
    """Read arrays that programs have computed for us, from any device; the user's transfer guard does not apply."""
    with _may_read():
        return list(map(np.asarray, arrays))


def _may_read() -> AbstractContextManager[Any]:
    """Lift the user's guard against transfers to the host, if there is one."""
    is_guarded = config.transfer_guard_device_to_host.value not in (None, "allow")
    return jax.transfer_guard_device_to_host("allow") if is_guarded else _NO_GUARD


def unchanging(array: np.ndarray) -> np.ndarray:
    """Return an array with the values that `array` has now: a copy if `array` can be written to later."""
    return array.copy() if _is_writable(array) else array


def _is_writable(array: np.ndarray) -> bool:
    memory: Any = array
    while isinstance(memory, np.ndarray):  # An array that is not writable may be a view of one that is.
        if memory.flags.writeable:
            return True
        memory = memory.base
    return False


@functools.lru_cache(maxsize=4096)
def _aval(shape: tuple[int, ...], dtype: Any) -> Any:
    return core.ShapedArray(shape, dtype)


@functools.cache
def cpu() -> tuple[Any, Any]:
    """Return the device that callbacks see, and the sharding of an array on it."""
    device = jax.local_devices(backend="cpu")[0]
    return device, jax.sharding.SingleDeviceSharding(device)


@functools.cache
def _device_apart() -> Any:
    """Return a CPU device of a client of our own: its threads are free while those of a program wait in callbacks."""
    make = getattr(xla_client, "make_cpu_client", None)
    return cpu()[0] if make is None else make().devices()[0]


def computing_apart() -> AbstractContextManager[Any]:
    """Return a context in which JAX computes on a device that runs no program of the user."""
    return jax.default_device(_device_apart())


def apart(tree: Any) -> Any:
    """Move the CPU arrays in a pytree, without a copy, to the device of `computing_apart`; leave everything else as it is.

    A computation with an array of the program's own client would wait for its threads, which a stopped program holds.
    """
    return jax.tree.map(_apart, tree)


def numbers_array(array: Any) -> Any:
    """Return the array that holds the numbers of an array of PRNG keys; another array is returned as it is."""
    return getattr(array, "_base_array", array)


def _is_array(leaf: object) -> bool:
    return isinstance(leaf, jax.Array) and not isinstance(leaf, core.Tracer)


def _apart(leaf: Any) -> Any:
    # Asking a deleted array whether it is ready ends the process.
    if not _is_array(leaf) or jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) or leaf.is_deleted():
        return leaf
    if len(leaf.devices()) > 1 or not leaf.is_ready() or any(d.platform != "cpu" for d in leaf.devices()):
        return leaf  # The threads that would gather it, or compute it, are blocked at the stop.
    device = _device_apart()
    sharding = jax.sharding.SingleDeviceSharding(device)
    aval = core.ShapedArray(leaf.shape, leaf.dtype, weak_type=leaf.weak_type)
    return xla_client.batched_device_put(aval, sharding, [_aligned(np.asarray(leaf))], [device], True)


def _aligned(array: np.ndarray) -> np.ndarray:
    if array.ctypes.data % _ALIGNMENT == 0 and array.flags.c_contiguous:
        return array
    memory = np.empty(array.nbytes + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    aligned = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    aligned[...] = array
    return aligned
