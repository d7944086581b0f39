"""Test that the CUDA source compiles for GPUs, on a machine without one."""

from __future__ import annotations

import importlib
from collections import Counter
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jax_debug_widgets._jax.compat import cuda
from jax_debug_widgets.watch.statistics.layout import NUMBERS_OF_PART
from tests.gpu import cuda_on_host
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


class Driver:
    """A driver of CUDA that counts its calls. `damaged` is a code that it cannot load."""

    def __init__(self, damaged: bytes) -> None:
        self.calls, self.damaged = Counter(), damaged

    def __getattr__(self, name: str) -> Any:
        def function(*arguments: Any) -> int:
            self.calls[name] += 1
            if name == "cuDeviceGetCount":
                arguments[0]._obj.value = 1
            return 209 if name == "cuLibraryLoadData" and arguments[1] == self.damaged else 0

        return function


@pytest.fixture
def driver(monkeypatch, tmp_path):
    made = Driver(b"damaged")
    monkeypatch.setattr(cuda, "driver", lambda: made)
    monkeypatch.setattr(cuda, "compiled", lambda *_: made.calls.update(compiled=1) or b"good")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for cached in (cuda._primary_context, cuda._stream):
        cached.cache_clear()
    yield made
    for cached in (cuda._primary_context, cuda._stream):
        cached.cache_clear()


def test_a_compiled_source_is_kept_and_compiled_anew_if_it_is_damaged(driver, tmp_path):
    for _ in range(2):
        assert cuda.kernels(b"source", ("one", "two")) == [0, 0]
    assert driver.calls["compiled"] == 1
    (kept,) = (tmp_path / "jax_debug_widgets").iterdir()
    kept.write_bytes(b"damaged")
    cuda.kernels(b"source", ("one",))
    assert driver.calls["compiled"] == 2
    assert kept.read_bytes() == b"good"


def test_who_has_no_home_compiles_each_time(driver, monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(cuda.Path, "home", homeless)
    for _ in range(2):
        cuda.kernels(b"source", ("one",))
    assert driver.calls["compiled"] == 2


def test_the_context_of_our_memory_is_never_given_back(driver):
    for _ in range(3):
        cuda.launch_and_wait(1, np.zeros(1))
        cuda.kernels(b"source", ("one",))
    assert driver.calls["cuDevicePrimaryCtxRetain"] == driver.calls["cuStreamCreate"] == 1
    assert driver.calls["cuCtxPushCurrent_v2"] == driver.calls["cuCtxPopCurrent_v2"] == 6
    assert not [name for name in driver.calls if "Release" in name]


def test_the_next_compiler_is_asked_where_one_does_not_know_the_gpu(monkeypatch):
    monkeypatch.setattr(cuda, "_all_nvrtc", lambda: iter(["old", "new"]))

    def compiled_by(nvrtc, _source, _architecture):
        if nvrtc == "old":
            raise cuda.CudaError("invalid value for --gpu-architecture")
        return nvrtc

    monkeypatch.setattr(cuda, "_compiled_by", compiled_by)
    assert cuda.compiled(b"", "sm_100") == "new"


@pytest.mark.parametrize("folder", ["cuda_nvrtc/lib/libnvrtc.so.12", "cu13/lib/libnvrtc.so.13"])
def test_the_compiler_of_each_jax_is_found(folder, monkeypatch, tmp_path):
    for file in (tmp_path / folder, (tmp_path / folder).with_name("libnvrtc.alt.so.12")):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    monkeypatch.setattr(
        cuda.importlib.util, "find_spec", lambda _name: SimpleNamespace(submodule_search_locations=[tmp_path])
    )
    monkeypatch.setattr(cuda.ctypes, "CDLL", str)
    assert [*cuda._all_nvrtc()] == [str(tmp_path / folder), "libnvrtc.so.12", "libnvrtc.so.13"]


def test_kernels_that_compute_something_else_are_refused(monkeypatch):
    cuda_on_host.on_host()
    native = importlib.import_module("jax_debug_widgets.watch.statistics.cuda")
    native.check_kernels()
    monkeypatch.setattr(native, "launch_and_wait", lambda *_, **_options: None)
    with pytest.raises(cuda.CudaError, match=r"the kernels that read watched values give \[\[0.0, "):
        native.check_kernels()


def test_a_program_whose_values_could_not_be_read_fails():
    target = cuda_on_host.on_host()
    x = jnp.arange(5.0)

    @jax.jit
    def f(x):
        results = [jax.ShapeDtypeStruct((1, 9), jnp.float32), jax.ShapeDtypeStruct((18,), jnp.float32)]
        return jax.ffi.ffi_call(target, results)(jnp.zeros(1, jnp.int32), x)[0]

    assert f(x)[0, :2].tolist() == [0, 4]
    with (
        cuda_on_host.launches_failing(SOURCE, 719),
        pytest.raises(
            (jax.errors.JaxRuntimeError, ValueError),
            match="CUDA could not launch the kernels that read the watched values",
        ),
    ):
        jax.block_until_ready(f(x))
    assert f(x)[0, :2].tolist() == [0, 4]


def test_kernels_without_a_driver_are_refused_with_a_reason(monkeypatch):
    def cannot(*_: object) -> None:
        raise OSError("libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr(cuda.ctypes, "CDLL", cannot)
    with pytest.raises(cuda.CudaError, match="the driver of CUDA 12 or later cannot be loaded: libcuda"):
        cuda.kernels(b"", [])
