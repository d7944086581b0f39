"""Test that host arrays become `jax.Array`s with the same bits, whatever their dtype and alignment."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jax_debug_widgets._jax.compat.arrays import on_cpu

DTYPES = ("bool", "int4", "int8", "int32", "uint32", "float16", "bfloat16", "float8_e4m3fn", "float32", "complex64")


def bits(array):
    return np.asarray(array).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (3, 4)], ids=str)
def test_every_dtype_and_shape_keeps_its_bits(dtype, shape):
    values = (np.arange(np.prod(shape, dtype=int)) % 2).reshape(shape).astype(jnp.dtype(dtype))
    array = on_cpu(values)
    assert isinstance(array, jax.Array)
    assert (array.shape, array.dtype, array.weak_type) == (shape, jnp.dtype(dtype), False)
    assert array.devices() == {jax.devices("cpu")[0]}
    assert array.committed
    assert bits(array) == bits(values)


@pytest.mark.parametrize("offset", range(0, 64, 4))
def test_an_array_of_any_alignment_keeps_its_bits(offset):
    memory = np.zeros(4096 + 64, np.uint8)
    values = memory[offset : offset + 4096].view(np.float32)
    values[:] = np.arange(1024)
    assert bits(on_cpu(values)) == bits(values)


def test_non_contiguous_arrays_are_copied():
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert bits(on_cpu(values.T)) == bits(values.T.copy())
    assert bits(on_cpu(values[:, ::2])) == bits(values[:, ::2].copy())


def test_an_aligned_array_is_not_copied():
    memory = np.zeros(4096 + 64, np.uint8)
    start = -memory.ctypes.data % 64
    values = memory[start : start + 4096].view(np.float32)
    assert on_cpu(values).unsafe_buffer_pointer() == values.ctypes.data


def test_a_converted_array_is_an_operand_of_jax_operations():
    assert float(jnp.sum(on_cpu(np.arange(5, dtype=np.float32)) + 1)) == 15
