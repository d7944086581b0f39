"""Handle the differences between the supported JAX versions. The oldest is 0.8, the newest tried 0.12.0.1."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import jax
from jax.sharding import NamedSharding, PartitionSpec

from jax_debug_widgets._jax.compat.private import callback as jax_callback
from jax_debug_widgets._jax.compat.private import (
    config,
    core,
    flattree,
    mesh,
    mlir,
    sharding_impls,
)

TRACEBACKS_LEAVE_THEIR_PROGRAM = jax.__version_info__ < (0, 9)
"""Whether the traceback of an equation includes the callers of the jitted function, as before 0.9."""

EXPLAINS_TRACES = jax.__version_info__ >= (0, 9)
"""Whether one function of JAX explains each trace (`jax_explain_cache_misses`); in 0.8 another function explains those
of `jax.jit`.
"""

CALLBACKS_HAVE_NO_MESH = jax.__version_info__ >= (0, 9)
"""Whether a debugging callback runs without the mesh that the program was called with."""

CALLBACKS_CHECK_DTYPES_FIRST = jax.__version_info__ >= (0, 9)
"""Whether JAX refuses a result of a host callback with a dtype that no array has before it compares shapes; 0.8 compares."""

CACHES_HOST_CALLBACKS = jax.__version_info__ >= (0, 11)
"""Whether JAX's persistent cache takes programs that call Python."""

SHARD_MAP_KEEPS_FIRST = jax.__version_info__ < (0, 11, 1)
"""Whether the residuals of a differentiated `shard_map` come before its own results."""

BATCHING = ("process_primitive", "process_call", "process_custom_jvp_call", "process_custom_vjp_call")
"""The methods of `BatchTrace` that batch an operation; since 0.12 calls are ordinary primitives, and the second is missing."""

CALLS = ("closed_call", "core_call", "eval_jaxpr")
"""The primitives that only run a program, in all JAX versions; 0.12 has the last one only."""

PMAP_FILES = ("pmap.py", "linear_util.py")
"""The files in which JAX defines what `jax.pmap` compiles: since 0.9 a separate one."""


def values_in(args: tuple[Any, ...]) -> list[Any]:
    """Return the values passed to a function of JAX: before 0.10 they are separate arguments, later one `FlatTree`."""
    # Since jax 0.12 the class is derived from `FlatTree`.
    is_tree = bool(args) and any(one.__name__ == "FlatTree" for one in type(args[0]).__mro__)
    return [*args[0]] if is_tree else [*args]


def set_sharding(module: Any, operation: Any, sharding: Any) -> None:
    """Annotate an operation with a sharding; since 0.10 JAX needs the module's context too."""
    set_sharding: Any = mlir.set_sharding
    if next(iter(inspect.signature(set_sharding).parameters)) == "op":
        set_sharding(operation, sharding)
    else:
        set_sharding(module, operation, sharding)


def varying_like(value: Any, other: Any) -> Any:
    """Return a replicated value with the type of one that varies over the same mesh axes as `other` in a `shard_map`."""
    axes = varying_over(other)
    return core.pvary(value, tuple(axes)) if axes else value


def varying_over(aval: Any) -> frozenset[str]:
    """Return the mesh axes over which a value in a `shard_map` varies, by its type; 0.10 renamed the attribute."""
    if hasattr(aval, "vma"):
        return aval.vma
    return aval.manual_axis_type.varying if hasattr(aval, "manual_axis_type") else frozenset()


def type_of(aval: Any) -> jax.ShapeDtypeStruct:
    """Return the shape, the dtype, and the mesh axes over which a value varies."""
    if not varying_over(aval):
        return jax.ShapeDtypeStruct(aval.shape, aval.dtype)
    name = "vma" if hasattr(aval, "vma") else "manual_axis_type"
    whole = NamedSharding(aval.sharding.mesh, PartitionSpec(*[None] * len(aval.shape)))
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=whole, **{name: getattr(aval, name)})


def scan_counts(params: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many operands of a `scan` its body only reads, and how many it carries.

    Since 0.11 its parameters are trees.
    """
    if "ft_in" in params:
        read, carried, _ = params["ft_in"].unpack()
        return len(read), len(carried)
    return params["num_consts"], params["num_carry"]


def more_of_scan(
    params: Mapping[str, Any], place: int, *, read: int = 0, carried: int = 0, sliced: int = 0
) -> dict[str, Any]:
    """Return the parameters of a `scan` with further operands of each kind, inserted at position `place`.

    Before 0.10 the parameters contain whether each operand is linear.
    """
    changed = dict(params)
    if "linear" in params:
        linear = params["linear"]
        changed["linear"] = (*linear[:place], *[False] * (read + carried + sliced), *linear[place:])
    if "ft_in" in params:
        inputs = zip(params["ft_in"].unpack(), map(flattree.nones, (read, carried, sliced)), strict=True)
        results, stacked = params["ft_out"].unpack()
        changed["ft_in"] = flattree.pack(tuple(inputs))
        changed["ft_out"] = flattree.pack(((results, flattree.nones(carried)), stacked))
    else:
        changed |= {"num_consts": params["num_consts"] + read, "num_carry": params["num_carry"] + carried}
    return changed


def callback_context(device: Any) -> AbstractContextManager[Any]:
    """Return the configuration in which JAX calls a debugging callback: this default device, and since 0.9 no mesh.

    XLA's own threads have no mesh. There the default device is all, which saves a callback several microseconds.
    """
    default_device = config.default_device(device)
    if not CALLBACKS_HAVE_NO_MESH or (mesh.get_concrete_mesh().empty and jax.sharding.get_abstract_mesh().empty):
        return default_device
    contexts = contextlib.ExitStack()
    contexts.enter_context(default_device)
    contexts.enter_context(sharding_impls._internal_use_concrete_mesh(mesh.empty_concrete_mesh))
    contexts.enter_context(mesh.use_abstract_mesh(mesh.empty_abstract_mesh))
    return contexts


def emit_python_callback(*args: Any, returns_token: bool, **options: Any) -> Any:
    """Call JAX's function of this name; since 0.9 it takes whether a token is returned."""
    if "returns_token" in inspect.signature(jax_callback.emit_python_callback).parameters:
        options["returns_token"] = returns_token
    return jax_callback.emit_python_callback(*args, **options)


def high_level(equation: Any) -> Any | None:
    """Return the operation of an equation that runs one of jax 0.12's high-level primitives (`jnp.nonzero`); else None."""
    return equation.params.get("_prim") if equation.primitive.name == "call_hi_primitive" else None
