"""Return the records of checks from a `shard_map`: each device returns its rows, and outside they are merged into one.

The types of a check's results do not contain the mesh axes over which they vary. So JAX must not check these types any
more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec

from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.compat.private import mesh as mesh_lib
from jax_debug_widgets._jax.origins.place import with_devices
from jax_debug_widgets._jax.passes.check_records import Record, computed_numbers, giving


def gives_records(equation: core.JaxprEqn) -> bool:
    """Whether an equation is a `shard_map` over all axes of a mesh of devices, which can return records."""
    mesh = with_devices(equation.params.get("mesh"))
    return isinstance(mesh, Mesh) and _axes(equation) == mesh.axis_names


def inside_of_mesh() -> AbstractContextManager[Any]:
    """Return a context to trace what a `shard_map` runs: the mesh of `jax.set_mesh` is that of the program around it."""
    return mesh_lib.use_abstract_mesh(mesh_lib.empty_abstract_mesh)


def _axes(equation: core.JaxprEqn) -> tuple[str, ...]:
    """Return the axes of the mesh that a `shard_map` maps over; the parameter has another name since 0.10."""
    params = equation.params
    over = params["newly_manual_axes"] if "newly_manual_axes" in params else params["manual_axes"]
    return tuple(one for one in params["mesh"].axis_names if one in over)


def given_by_devices(
    equation: core.JaxprEqn, inner: core.Jaxpr, records: Sequence[Record]
) -> tuple[list[core.JaxprEqn], list[Record]]:
    """Return the equations of a `shard_map` that also returns records and merges them, and the merged records.

    `inner` is the body of the `shard_map`, which returns the records.
    """
    mesh, axes = with_devices(equation.params["mesh"]), _axes(equation)
    spec, also, rows = PartitionSpec(axes), [], []
    for _, row in records:
        with inside_of_mesh():
            made, (one,) = computed_numbers(lambda row: [lax.reshape(row, (1, row.size))], [row])
        also, rows = [*also, *made], [*rows, one]
    given = [core.Var(core.ShapedArray((mesh.size, *one.aval.shape[1:]), one.aval.dtype)) for one in rows]
    params = {
        **equation.params,
        "jaxpr": giving(inner.replace(eqns=[*inner.eqns, *also]), rows),
        "out_specs": (*equation.params["out_specs"], *[spec] * len(rows)),
        "check_vma": False,
    }
    equations = [equation.replace(params=params, outvars=[*equation.outvars, *given])]
    outside: list[Record] = []
    for (checked, _), row in zip(records, given, strict=True):
        same = [one for one in axes if one not in checked.varies] if equation.params["check_vma"] else []
        replicas = math.prod(mesh.shape[one] for one in same)
        made, (now,) = computed_numbers(partial(_merged, replicas, bool(checked.around)), [row])
        equations += made
        devices = (None,) * mesh.size if len(same) == len(axes) else tuple(one.id for one in mesh.devices.flat)
        outside.append((replace(checked, devices=devices), now))
    return equations, outside


def _merged(replicas: int, in_loop: bool, rows: Any) -> Sequence[Any]:
    """Return the row of the device with the first fault; after the count over all devices comes the device's number.

    Args:
      replicas: the number of devices that have the same value.
      in_loop: whether the last number is the iteration of a loop.
    """
    count, size = rows.shape
    found = _column(rows, 0)
    places, most = lax.iota(np.int32, count), np.int32(np.iinfo(np.int32).max)
    when = _column(rows, size - 1) if in_loop else lax.full_like(found, 0)
    when = lax.select(lax.gt(found, lax.full_like(found, 0)), when, lax.full_like(found, most))
    earliest = lax.full_like(when, lax.reduce_min(when, (0,)))
    first = lax.reduce_min(lax.select(lax.eq(when, earliest), places, lax.full_like(places, most)), (0,))
    taken = lax.eq(lax.broadcasted_iota(np.int32, rows.shape, 0), lax.full_like(rows, first))
    row = lax.reduce_sum(lax.select(taken, rows, lax.full_like(rows, 0)), (0,))
    limited = lax.min(found, lax.full_like(found, (1 << 30) // count))
    total = lax.div(lax.add(lax.reduce_sum(limited, (0,)), np.int32(replicas - 1)), np.int32(replicas))
    head = [lax.reshape(one, (1,)) for one in (total, first)]
    return [lax.concatenate([*head, lax.slice(row, (1,), (size,))], 0)]


def _column(rows: Any, at: int) -> Any:
    return lax.reshape(lax.slice(rows, (0, at), (rows.shape[0], at + 1)), (rows.shape[0],))
