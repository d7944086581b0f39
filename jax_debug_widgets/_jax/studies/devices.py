"""Find where equations run, as far as the program says: on the host, on each device of a mesh, or on one device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from jax_debug_widgets._jax.compat.caching import cached_by_identity
from jax_debug_widgets._jax.compat.private import core
from jax_debug_widgets._jax.origins.place import Place

_MOST_NAMED = 2
"""Devices that are called by their names."""


def devices_of(values: Sequence[Any]) -> str:
    """The devices that hold the arguments of a program: `cpu:0`, `8 devices`; empty if they are unknown."""
    found = {device for one in values if isinstance(one, jax.Array) for device in one.sharding.device_set}
    return _names_of_devices(found)


def device_of(equation: core.JaxprEqn, place: Place) -> str:
    """The device that an equation runs on; empty if it runs with the rest of the program."""
    name = equation.primitive.name
    if "callback" in name or name in ("debug_print", "debug_tap"):
        return "host"
    if name == "device_put":
        return ", ".join(dict.fromkeys(filter(None, map(_target, equation.params.get("devices", ())))))
    if place.mesh is not None:
        return f"each of {_mesh(place.mesh, place.axes or tuple(place.mesh.axis_names))}"
    if name == "sharding_constraint":
        return _sharded(equation.params["sharding"])
    return next(filter(None, (_split(one.aval) for one in equation.outvars)), "")


@cached_by_identity
def _split(aval: Any) -> str:
    return _sharded(getattr(aval, "sharding", None))


def _mesh(mesh: Any, axes: Sequence[str]) -> str:
    return ", ".join(f"{axis}={mesh.shape[axis]}" for axis in axes)


def _sharded(sharding: Any) -> str:
    """`x=4`: the axes of the mesh that a value is split over."""
    spec = getattr(sharding, "spec", None)
    named = [axis for part in spec or () for axis in (part if isinstance(part, tuple) else (part,))]
    axes = [axis for axis in named if isinstance(axis, str)]
    return f"split over {_mesh(sharding.mesh, axes)}" if axes else ""


def _target(device: Any) -> str:
    if isinstance(device, jax.Device):
        return _names_of_devices({device})
    memory = getattr(device, "memory_kind", None)
    found = _names_of_devices(set(getattr(device, "device_set", ())))
    return " ".join(word for word in (found, memory if memory not in (None, "device") else "") if word)


def _names_of_devices(devices: set[Any]) -> str:
    if len(devices) > _MOST_NAMED:
        return f"{len(devices)} devices"
    return ", ".join(sorted(f"{one.platform}:{one.id}" for one in devices))
