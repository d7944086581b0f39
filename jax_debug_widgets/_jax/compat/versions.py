"""The differences between the supported JAX versions, in one place. The oldest is 0.8, the newest tried 0.12.0.1."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Mapping
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
"""Whether one function of JAX explains each trace (`jax_explain_cache_misses`); 0.8 explains those of `jax.jit`, elsewhere."""

CACHES_HOST_CALLBACKS = jax.__version_info__ >= (0, 11)
"""Whether a program that calls Python goes to JAX's persistent cache."""

SHARD_MAP_KEEPS_FIRST = jax.__version_info__ < (0, 11, 1)
"""Whether a `shard_map` that is differentiated gives what its backward pass needs before what it gives itself."""

BATCHING = ("process_primitive", "process_call", "process_custom_jvp_call", "process_custom_vjp_call")
"""The methods of `BatchTrace` that batch something; since 0.12 calls are primitives like all others, without the second."""

CALLS = ("closed_call", "core_call", "eval_jaxpr")
"""The primitives that only run a program, in all JAX versions; 0.12 has the last one only."""

PMAP_FILES = ("pmap.py", "linear_util.py")
"""Where JAX defines what `jax.pmap` compiles: since 0.9 in a file of its own."""


def values_in(args: tuple[Any, ...]) -> list[Any]:
    """The values passed to a function of JAX's: before 0.10 as separate arguments, later in one `FlatTree`."""
    # Since jax 0.12 it is of a class derived from that.
    is_tree = bool(args) and any(one.__name__ == "FlatTree" for one in type(args[0]).__mro__)
    return [*args[0]] if is_tree else [*args]


def set_sharding(module: Any, operation: Any, sharding: Any) -> None:
    """Annotate an operation; since 0.10 the module's context is asked for as well."""
    set_sharding: Any = mlir.set_sharding
    if next(iter(inspect.signature(set_sharding).parameters)) == "op":
        set_sharding(operation, sharding)
    else:
        set_sharding(module, operation, sharding)


def varying_like(value: Any, other: Any) -> Any:
    """A value that is the same on all devices of a `shard_map`, as the type of `other` says that it varies over the mesh."""
    axes = varying_over(other)
    return core.pvary(value, tuple(axes)) if axes else value


def varying_over(aval: Any) -> frozenset[str]:
    """The axes of the mesh over which a value in a `shard_map` varies, as its type says; since 0.10 of another name."""
    if hasattr(aval, "vma"):
        return aval.vma
    return aval.manual_axis_type.varying if hasattr(aval, "manual_axis_type") else frozenset()


def type_of(aval: Any) -> jax.ShapeDtypeStruct:
    """Shape, dtype and over which axes of a mesh it varies."""
    if not varying_over(aval):
        return jax.ShapeDtypeStruct(aval.shape, aval.dtype)
    name = "vma" if hasattr(aval, "vma") else "manual_axis_type"
    whole = NamedSharding(aval.sharding.mesh, PartitionSpec(*[None] * len(aval.shape)))
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=whole, **{name: getattr(aval, name)})


def scan_counts(params: Mapping[str, Any]) -> tuple[int, int]:
    """How many operands of a `scan` its body only reads, and how many it carries; since 0.11 its parameters have trees."""
    if "ft_in" in params:
        read, carried, _ = params["ft_in"].unpack()
        return len(read), len(carried)
    return params["num_consts"], params["num_carry"]


def more_of_scan(
    params: Mapping[str, Any], place: int, *, read: int = 0, carried: int = 0, sliced: int = 0
) -> dict[str, Any]:
    """The parameters of a `scan` with more operands, each kind after its own, from position `place` on.

    Before 0.10 it says of each operand whether it is linear.
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


@contextlib.contextmanager
def callback_context(device: Any) -> Iterator[None]:
    """The configuration in which JAX calls a debugging callback: this default device, and since 0.9 no mesh."""
    with config.default_device(device):
        if not hasattr(sharding_impls, "_internal_use_concrete_mesh"):
            yield
            return
        with (
            sharding_impls._internal_use_concrete_mesh(mesh.empty_concrete_mesh),
            mesh.use_abstract_mesh(mesh.empty_abstract_mesh),
        ):
            yield


def emit_python_callback(*args: Any, returns_token: bool, **options: Any) -> Any:
    """JAX's function of that name; since 0.9 it takes whether a token comes back."""
    if "returns_token" in inspect.signature(jax_callback.emit_python_callback).parameters:
        options["returns_token"] = returns_token
    return jax_callback.emit_python_callback(*args, **options)


def high_level(equation: Any) -> Any | None:
    """The operation of an equation that runs one of JAX's high-level primitives, which jax 0.12 has (`jnp.nonzero`)."""
    return equation.params.get("_prim") if equation.primitive.name == "call_hi_primitive" else None
