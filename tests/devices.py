"""Choose the device that tests run on.

`JDW_PLATFORM=gpu` makes a GPU the default device. Tests that need several devices use those of the CPU.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import AxisType, Mesh

PLATFORM = os.environ.get("JDW_PLATFORM", "cpu")
"""The platform: `cpu`; `gpu` for CUDA; `rocm`."""

PLATFORMS = {"cpu": "cpu", "gpu": "cuda,cpu"}.get(PLATFORM, f"{PLATFORM},cpu")
"""The value of `jax_platforms`: the first is the default platform; JAX's callbacks need a CPU."""


def cpu_mesh(shape: tuple[int, ...], names: tuple[str, ...], kind: AxisType = AxisType.Auto) -> Mesh:
    """Return a mesh of CPU devices, whatever the default device is; a test has four CPU devices."""
    devices = jax.devices("cpu")[: math.prod(shape)]
    return jax.make_mesh(shape, names, axis_types=(kind,) * len(names), devices=devices)


def cpu_pmap(function: Callable[..., Any], count: int, **options: Any) -> Callable[..., Any]:
    """Return `jax.pmap` of a function over `count` CPU devices."""
    return jax.pmap(function, devices=jax.devices("cpu")[:count], **options)
