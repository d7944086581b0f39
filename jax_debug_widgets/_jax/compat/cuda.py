"""Compile a CUDA source of ours with NVRTC, which every JAX for CUDA brings, and load it with the driver.

A compiled source is kept on disk, for each architecture. Only what calls the driver needs a GPU.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import importlib.util
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

_MAJOR, _MINOR, _MEMORY_CLOCK, _BUS_WIDTH = 75, 76, 36, 37
"""`CUdevice_attribute` (cuda.h): the compute capability, the clock of the memory in kHz, and the bits of its bus."""

THREADS = 256
"""The threads of a block, in all launches."""

_PORTABLE, _MAPPED = 1, 2
"""`CU_MEMHOSTALLOC_PORTABLE`, `CU_MEMHOSTALLOC_DEVICEMAP`."""

_NON_BLOCKING = 1
"""`CU_STREAM_NON_BLOCKING`."""

_OPTIONS = (b"--std=c++17",)


class CudaError(RuntimeError):
    """NVRTC or NVIDIA's driver failed; the message says how."""


def kernels(source: bytes, names: Sequence[str]) -> list[int]:
    """Compile a source for the GPUs of this process; return the handle of each kernel, for `cuLaunchKernel`.

    All GPUs use the same handles: they are `CUkernel`, which CUDA 12 has.

    Raises:
      CudaError: there is no driver, no NVRTC, or the source cannot be compiled or loaded.
    """
    cuda = driver()
    library, architecture = ctypes.c_void_p(), _architecture(cuda)

    def load(code: bytes) -> int:
        return cuda.cuLibraryLoadData(ctypes.byref(library), code, None, None, 0, None, None, 0)

    if load(_compiled(source, architecture)):  # What was kept on disk may be damaged, or be of another compiler.
        _check(load(_compiled(source, architecture, anew=True)), "cuLibraryLoadData")
    found = []
    for name in names:
        kernel = ctypes.c_void_p()
        _check(cuda.cuLibraryGetKernel(ctypes.byref(kernel), library, name.encode()), f"cuLibraryGetKernel of {name}")
        found.append(int(kernel.value or 0))
    for device in _used_devices(cuda):
        _load_now(cuda, device, found)
    return found


def driver() -> Any:
    """NVIDIA's driver.

    Raises:
      CudaError: there is none, or it finds no GPU.
    """
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
        cuda.cuLibraryLoadData  # noqa: B018 - since CUDA 12.
    except (OSError, AttributeError) as error:
        raise CudaError(f"the driver of CUDA 12 or later cannot be loaded: {error}") from error
    _check(cuda.cuInit(0), "cuInit")
    return cuda


@functools.cache
def memory_bandwidth() -> float:
    """The bytes a second that a kernel can read from the memory of the first GPU; 10^12 if the driver does not say.

    It is seven eighths of what clock and bus could transfer: 4.3 of 4.9 TB/s on an H200.
    """
    try:
        cuda = driver()
        kilohertz, bits = (_attribute(cuda, _used_devices(cuda)[0], what) for what in (_MEMORY_CLOCK, _BUS_WIDTH))
    except CudaError:
        return 1e12
    return 2 * kilohertz * 1e3 * bits / 8 * 0.875 or 1e12


def function_address(name: str) -> int:
    """The address of a function of NVIDIA's driver."""
    return ctypes.cast(getattr(driver(), name), ctypes.c_void_p).value or 0


def launch_and_wait(kernel: int, argument: np.ndarray, blocks: int = 1) -> None:
    """Launch a kernel with `THREADS` threads a block on the first GPU, and wait for it. It waits for no other stream.

    Args:
      argument: the bytes of its only argument.

    Raises:
      CudaError: it could not be launched, or failed.
    """
    cuda = driver()
    arguments = (ctypes.c_void_p * 1)(argument.ctypes.data)
    device = _used_devices(cuda)[0]
    with _context(cuda, device):
        stream, grid = _stream(device), (blocks, 1, 1, THREADS, 1, 1, 0)
        _check(cuda.cuLaunchKernel(ctypes.c_void_p(kernel), *grid, stream, arguments, None), "cuLaunchKernel")
        _check(cuda.cuStreamSynchronize(stream), "cuStreamSynchronize")


@functools.cache
def _stream(_device: int) -> ctypes.c_void_p:
    """A stream of ours on a device, whose context is current. The default stream would wait for other libraries' streams."""
    stream = ctypes.c_void_p()
    _check(driver().cuStreamCreate(ctypes.byref(stream), _NON_BLOCKING), "cuStreamCreate")
    return stream


def pinned_memory(size: int) -> tuple[np.ndarray, int]:
    """Allocate memory of the host that all GPUs can write to, uint8[size]; return it, and its address for a GPU.

    It is never freed: a kernel may still write to it.

    Raises:
      CudaError: there is no such memory left.
    """
    cuda = driver()
    host, device = ctypes.c_void_p(), ctypes.c_uint64()
    with _context(cuda, _used_devices(cuda)[0]):
        flags = _PORTABLE | _MAPPED
        _check(cuda.cuMemHostAlloc(ctypes.byref(host), ctypes.c_size_t(size), flags), "cuMemHostAlloc")
        _check(cuda.cuMemHostGetDevicePointer_v2(ctypes.byref(device), host, 0), "cuMemHostGetDevicePointer")
    memory = (ctypes.c_uint8 * size).from_address(host.value or 0)
    return np.frombuffer(memory, np.uint8), device.value


def compiled(source: bytes, architecture: str) -> bytes:
    """Compile a source for an architecture, `sm_90` say, with the first NVRTC that knows it.

    Raises:
      CudaError: there is no NVRTC, or the source is wrong; the message has the compiler's words.
    """
    problems = []
    for nvrtc in _all_nvrtc():
        try:
            return _compiled_by(nvrtc, source, architecture)
        except CudaError as error:
            problems.append(error)
    if problems:
        raise problems[0]
    raise CudaError("there is no NVRTC: pip install nvidia-cuda-nvrtc (CUDA 13) or nvidia-cuda-nvrtc-cu12")


def _compiled_by(nvrtc: Any, source: bytes, architecture: str) -> bytes:
    program = ctypes.c_void_p()
    made = nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"jax_debug_widgets.cu", 0, None, None)
    _check(made, "nvrtcCreateProgram")
    try:
        options = [f"--gpu-architecture={architecture}".encode(), *_OPTIONS]
        failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        if failed:
            raise CudaError(f"NVRTC cannot compile for {architecture}: {_text(nvrtc, program, 'ProgramLog').decode()}")
        return _text(nvrtc, program, "CUBIN" if architecture.startswith("sm_") else "PTX")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _text(nvrtc: Any, program: Any, kind: str) -> bytes:
    size = ctypes.c_size_t()
    _check(getattr(nvrtc, f"nvrtcGet{kind}Size")(program, ctypes.byref(size)), f"nvrtcGet{kind}Size")
    text = ctypes.create_string_buffer(size.value)
    _check(getattr(nvrtc, f"nvrtcGet{kind}")(program, text), f"nvrtcGet{kind}")
    return text.raw


def _all_nvrtc() -> Iterator[Any]:
    """NVRTC of the Python environment and of the system, the oldest first: what it compiles runs with any newer driver.

    It is `nvidia/cu13/lib/libnvrtc.so.13`, or `nvidia/cuda_nvrtc/lib/libnvrtc.so.12`.
    """
    package = importlib.util.find_spec("nvidia")
    folders = list(package.submodule_search_locations or ()) if package else []
    found = [path for folder in folders for path in Path(folder).glob("*/lib/libnvrtc.so.*")]
    for path in [*sorted(found, key=lambda path: path.name), *(f"libnvrtc.so.{version}" for version in (12, 13))]:
        with contextlib.suppress(OSError):
            yield ctypes.CDLL(str(path))


def _architecture(cuda: Any) -> str:
    """What to compile for: machine code if all GPUs are of one kind, else PTX, which the driver translates."""
    capabilities = {tuple(_attribute(cuda, device, what) for what in (_MAJOR, _MINOR)) for device in _devices(cuda)}
    major, minor = min(capabilities)
    return f"{'sm' if len(capabilities) == 1 else 'compute'}_{major}{minor}"


def _devices(cuda: Any) -> range:
    count = ctypes.c_int()
    _check(cuda.cuDeviceGetCount(ctypes.byref(count)), "cuDeviceGetCount")
    if not count.value:
        raise CudaError("CUDA finds no GPU")
    return range(count.value)


def _used_devices(cuda: Any) -> Sequence[int]:
    """The GPUs that this process uses already; all of them if it uses none. Another process may own the others."""
    flags, active = ctypes.c_uint(), ctypes.c_int()
    used = []
    for device in _devices(cuda):
        state = cuda.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(active))
        _check(state, "cuDevicePrimaryCtxGetState")
        if active.value:
            used.append(device)
    return used or _devices(cuda)


def _attribute(cuda: Any, device: int, what: int) -> int:
    value = ctypes.c_int()
    _check(cuda.cuDeviceGetAttribute(ctypes.byref(value), what, device), "cuDeviceGetAttribute")
    return value.value


def _load_now(cuda: Any, device: int, handles: Sequence[int]) -> None:
    """Load kernels on a device. Otherwise their first launch loads them, which XLA may just be recording in a CUDA graph."""
    with _context(cuda, device):
        for handle in handles:
            function = ctypes.c_void_p()
            _check(cuda.cuKernelGetFunction(ctypes.byref(function), ctypes.c_void_p(handle)), "cuKernelGetFunction")
            if hasattr(cuda, "cuFuncLoad"):  # Since CUDA 12.4.
                _check(cuda.cuFuncLoad(function), "cuFuncLoad")


@contextlib.contextmanager
def _context(cuda: Any, device: int) -> Iterator[None]:
    """Make the primary context of a device, which is XLA's, current on this thread."""
    _check(cuda.cuCtxPushCurrent_v2(_primary_context(device)), "cuCtxPushCurrent")
    try:
        yield
    finally:
        cuda.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


@functools.cache
def _primary_context(device: int) -> ctypes.c_void_p:
    """The primary context of a device. It is kept for ever: without it our pinned memory would be gone, while Python reads it.

    XLA gives it back if its clients are cleared.
    """
    context = ctypes.c_void_p()
    _check(driver().cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
    return context


def _compiled(source: bytes, architecture: str, *, anew: bool = False) -> bytes:
    """The compiled source, as `compiled` gives it; from disk if it is there, unless `anew`."""
    kept = None
    with contextlib.suppress(OSError, RuntimeError):  # This user may have no home.
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        digest = hashlib.sha256(source + b"".join(_OPTIONS)).hexdigest()[:16]
        kept = home / "jax_debug_widgets" / f"{digest}_{architecture}.cubin"
        if not anew:
            return kept.read_bytes()
    code = compiled(source, architecture)
    with contextlib.suppress(OSError):  # Without it, it is compiled again.
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            written = kept.with_suffix(f".{os.getpid()}")
            written.write_bytes(code)
            written.replace(kept)
    return code


def _check(code: int, what: str) -> None:
    if code:
        raise CudaError(f"{what} failed with error {code}")
