"""Handle an un-jitted `shard_map`.

JAX runs operations on all devices, but debugging equations block by block on the host.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jax_debug_widgets._jax.origins.place import device_names


@dataclass(frozen=True)
class Block:
    """One firing of a debugging equation.

    Attributes:
      values: the block of each operand.
      axes: the mesh axes over which the equation fires, in the order of the mesh.
      devices: the name of the device at each coordinate of these axes, as nested lists; None if it fires for several at
        once.
      coordinates: the coordinate on each of these axes, int32[].
    """

    values: tuple[Any, ...]
    axes: tuple[str, ...] = ()
    devices: Any = None
    coordinates: tuple[np.ndarray, ...] = ()


NO_BLOCK = Block(())
"""The block of an equation that is not in a `shard_map`."""


def blocks_of(mesh: Any, operands: Sequence[Any]) -> list[Block]:
    """Return the firings of an equation.

    They have no coordinates if JAX brings together blocks of different devices.

    Args:
      mesh: the mesh of the `shard_map`.
      operands: arrays with a first axis over the devices on which they differ.
    """
    firings = list(zip(*map(list, operands), strict=False))  # Like JAX, as often as the shortest operand.
    differing = [_axes_of(mesh, operand) for operand in operands]
    axes = tuple(name for name in mesh.axis_names if any(name in names for names in differing))
    devices = device_names(mesh, axes)
    blocks: list[Block] = []
    for number, values in enumerate(firings):
        numbers = {place for names in differing for place in _coordinates(mesh, names, number)}
        if len(numbers) > len(axes):
            return [Block(values) for values in firings]
        blocks.append(Block(values, axes, devices, tuple(np.asarray(dict(numbers)[name], np.int32) for name in axes)))
    return blocks


def as_jax_would(rule: Callable[..., Any], mesh: Any, block: Block) -> Callable[..., Any]:
    """Return a function that calls JAX's rule with the values of `block`.

    It ignores its own operands, which are copies on the host.
    """
    return lambda *_copies, **params: rule(mesh, *[[value] for value in block.values], **params)


def _coordinates(mesh: Any, names: Sequence[str], number: int) -> Iterator[tuple[str, int]]:
    if not names:
        return iter(())
    index = np.unravel_index(number, [mesh.shape[name] for name in names])
    return zip(names, map(int, index), strict=True)


def _axes_of(mesh: Any, operand: Any) -> tuple[str, ...]:
    """Return the axes of the mesh along which an operand differs, according to its sharding."""
    sharding = operand.sharding
    if not isinstance(sharding, jax.sharding.NamedSharding) or not sharding.spec:
        return ()
    first = sharding.spec[0] or ()
    names = (first,) if isinstance(first, str) else tuple(first)
    return names if math.prod(mesh.shape[name] for name in names) == len(operand) else ()
