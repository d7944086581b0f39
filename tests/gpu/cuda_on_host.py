"""Run the CUDA kernels and their handlers without a GPU.

A C++ compiler compiles the kernels, and XLA's CPU backend calls the handlers.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jax_debug_widgets._jax.compat import cuda, ffi
from jax_debug_widgets._jax.passes import emit
from jax_debug_widgets._jax.passes.device_clock import DeviceClock
from jax_debug_widgets.watch.statistics import statistics

SOURCE = Path(statistics.__file__).with_name("statistics.cu")
RING_SOURCE = Path(emit.__file__).with_name("ring.cu")
_OPTIONS = "-std=c++20 -O2 -ffp-contract=off -shared -fPIC -pthread -DTHREADS=8"


@functools.cache
def on_host() -> str:
    """Register the custom call that computes statistics for the CPU; return its name."""
    return _imported("jax_debug_widgets.watch.statistics.cuda", SOURCE, "Job").GPU


@functools.cache
def rings_on_host() -> Any:
    """Register the custom call that writes into rings for the CPU; return the module that makes these rings."""
    _imported("jax_debug_widgets._jax.passes.device_rings_native", RING_SOURCE, "Record")
    device_rings: Any = importlib.import_module("jax_debug_widgets._jax.passes.device_rings")
    device_rings._clock = functools.cache(lambda: DeviceClock(lambda: (0, 0)))  # The kernel reads the host's clock.
    return device_rings


@contextmanager
def writing_into_device_rings() -> Iterator[None]:
    """Let programs on the CPU write into rings as programs on a GPU do."""
    device_rings = rings_on_host()
    with mock.patch.dict(emit.RINGS, cpu=device_rings):
        yield


@contextmanager
def launches_failing(source: Path, error: int) -> Iterator[None]:
    """Let CUDA refuse to launch the kernels of a source, with this error."""
    refused = ctypes.c_int.in_dll(_libraries[source], "launch_error")
    refused.value = error
    try:
        yield
    finally:
        refused.value = 0


_libraries: dict[Path, Any] = {}


def _imported(module: str, source: Path, argument: str) -> Any:
    """Import a module that runs the kernels of a source, which take an argument of this type, with a driver on the host."""
    library = _libraries[source] = _compiled(source, argument)
    functions = {"cuLaunchKernel": library.launch, "cuStreamSynchronize": library.synchronize}

    def launch_and_wait(kernel: int, job: np.ndarray, blocks: int = 1) -> None:
        arguments = (ctypes.c_void_p * 1)(job.ctypes.data)
        library.launch(ctypes.c_uint64(kernel), blocks, 1, 1, 8, 1, 1, 0, None, arguments, None)

    def pinned_memory(size: int) -> tuple[np.ndarray, int]:
        memory = np.zeros(size // 8, np.uint64).view(np.uint8)
        return memory, memory.ctypes.data

    def function_address(name: str) -> int:
        return ctypes.cast(functions[name], ctypes.c_void_p).value or 0

    to_cpu = functools.partial(_register, ffi.register)
    with (
        mock.patch.object(cuda, "kernels", lambda _source, names: range(len(names))),
        mock.patch.object(cuda, "function_address", function_address),
        mock.patch.object(cuda, "launch_and_wait", launch_and_wait),
        mock.patch.object(cuda, "pinned_memory", pinned_memory),
        mock.patch.object(ffi, "register", to_cpu),
    ):
        return importlib.import_module(module)


def _compiled(source: Path, argument: str) -> Any:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler, which compiles the CUDA kernels for the host")
    kernels = ",".join(kernel_names(source))
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "kernels.so")
        defined = [f'-DSOURCE="{source}"', f"-DKERNELS={kernels}", f"-DJOB={argument}"]
        shim = str(Path(__file__).with_suffix(".h"))
        command = [compiler, *_OPTIONS.split(), *defined, "-x", "c++", shim, "-o", str(library)]
        subprocess.run(command, check=True)
        return ctypes.CDLL(str(library))


def kernel_names(source: Path) -> list[str]:
    """Return the names of the kernels of a CUDA source, in its order."""
    heads = [line for line in source.read_text().splitlines() if "__global__" in line]
    return [head.split("(")[-2].split()[-1] for head in heads]


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
