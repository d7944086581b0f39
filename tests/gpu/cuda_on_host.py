"""Run the CUDA kernels and their handler without a GPU.

A C++ compiler compiles the kernels, and XLA's CPU backend calls the handler.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import pytest

from jax_debug_widgets._jax.compat import cuda, ffi
from jax_debug_widgets.watch.statistics import statistics

SOURCE = Path(statistics.__file__).with_name("statistics.cu")
_OPTIONS = "-std=c++20 -O2 -ffp-contract=off -shared -fPIC -pthread -DTHREADS=8"


@functools.cache
def on_host() -> str:
    """Register the custom call for the CPU; return its name."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler, which compiles the CUDA kernels for the host")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "kernels.so")
        shim = Path(__file__).with_suffix(".h")
        command = [compiler, *_OPTIONS.split(), f'-DSOURCE="{SOURCE}"', "-x", "c++", str(shim), "-o", str(library)]
        subprocess.run(command, check=True)
        loaded = ctypes.CDLL(str(library))
    address = ctypes.cast(loaded.launch, ctypes.c_void_p).value
    to_cpu = functools.partial(_register, ffi.register)
    with (
        mock.patch.object(cuda, "kernels", lambda _source, names: range(len(names))),
        mock.patch.object(cuda, "launch_address", return_value=address),
        mock.patch.object(ffi, "register", to_cpu),
    ):
        return importlib.import_module("jax_debug_widgets.watch.statistics.cuda").GPU


def _register(register: Callable[..., None], target: str, handle: Any, platform: str) -> None:
    assert platform == "CUDA"
    register(target, handle)


def computed_by_cuda(
    _target: Any, arrays: Sequence[Any], shape: Any, _otherwise: Any, *, on_cuda: tuple[str, int], **_rest: Any
) -> Sequence[Any]:
    """Replace `computed_natively`: emit what its lowering for CUDA emits."""
    target, size = on_cuda
    results = [jax.ShapeDtypeStruct(shape, jnp.float32), jax.ShapeDtypeStruct((size,), jnp.float32)]
    return jax.ffi.ffi_call(target, results)(*arrays)[:1]
