"""The device that tests run on: `JDW_PLATFORM=gpu` makes a GPU the default one; what needs several devices takes CPU's."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import AxisType, Mesh

PLATFORM = os.environ.get("JDW_PLATFORM", "cpu")
"""`cpu`; `gpu` for CUDA; `rocm`."""

PLATFORMS = {"cpu": "cpu", "gpu": "cuda,cpu"}.get(PLATFORM, f"{PLATFORM},cpu")
"""What `jax_platforms` is set to: the first is the default one, and JAX's callbacks need a CPU."""


def cpu_mesh(shape: tuple[int, ...], names: tuple[str, ...], kind: AxisType = AxisType.Auto) -> Mesh:
    """A mesh of CPU devices, whatever the default device is: of those a test has four."""
    devices = jax.devices("cpu")[: math.prod(shape)]
    return jax.make_mesh(shape, names, axis_types=(kind,) * len(names), devices=devices)


def cpu_pmap(function: Callable[..., Any], count: int, **options: Any) -> Callable[..., Any]:
    """`jax.pmap` over so many CPU devices."""
    return jax.pmap(function, devices=jax.devices("cpu")[:count], **options)
