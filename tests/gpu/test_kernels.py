"""Test that the CUDA source compiles for GPUs, on a machine without one."""

from __future__ import annotations

import numpy as np
import pytest

from jax_debug_widgets._jax.compat import cuda
from jax_debug_widgets.watch.statistics.layout import NUMBERS_OF_PART
from tests.gpu.cuda_on_host import RING_SOURCE, SOURCE, kernel_names


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("source", [SOURCE, RING_SOURCE], ids=lambda source: source.stem)
def test_the_kernels_are_compiled_for_each_architecture(architecture, source):
    code = cuda.compiled(source.read_bytes(), architecture)
    assert code.startswith(b"\x7fELF")
    for kernel in kernel_names(source):
        assert kernel.encode() in code


def test_an_error_in_a_cuda_source_has_the_compilers_message():
    with pytest.raises(cuda.CudaError, match=r'NVRTC cannot compile for sm_80: .*identifier "nothing" is undefined'):
        cuda.compiled(b"__global__ void f() { nothing(); }", "sm_80")


def test_scratch_has_the_same_size_in_the_source():
    assert f"#define PART_BYTES {NUMBERS_OF_PART * np.dtype(np.float32).itemsize}\n" in SOURCE.read_text()


def test_kernels_without_a_driver_are_refused_with_a_reason(monkeypatch):
    def cannot(*_: object) -> None:
        raise OSError("libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr(cuda.ctypes, "CDLL", cannot)
    with pytest.raises(cuda.CudaError, match="the driver of CUDA 12 or later cannot be loaded: libcuda"):
        cuda.kernels(b"", [])
