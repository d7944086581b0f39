"""Test that the number in a finding is that of the element, for each dtype and for small and large arrays."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.passes.words import number_of_words, recorded_type, words_of

NUMBERS = {
    "int4": (-8, 7),
    "int8": (-128, 127, -1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1, -1, 10**12),
    "uint8": (0, 255),
    "uint16": (2**16 - 1,),
    "uint32": (4 * 10**9, 2**31),
    "uint64": (2**64 - 1, 2**63, 2**32),
    "float16": (-65504.0, 2.0**-24),
    "bfloat16": (-(2.0**127),),
    "float32": (3.4028234663852886e38, -0.0),
    "float64": (1e300, -5e-324, 2147483648.25),
}


@pytest.mark.parametrize("dtype", NUMBERS)
def test_each_number_is_handed_over_bit_by_bit(dtype):
    with jax.enable_x64(True):
        numbers = np.array(NUMBERS[dtype], jnp.dtype(dtype))
        words = [np.asarray(one).tolist() for one in jax.jit(words_of)(numbers)]
    told = [number_of_words(recorded_type(dtype), one) for one in zip(*words, strict=True)]
    assert told == list(NUMBERS[dtype])


CASTS = [
    ("int64", "int32", 10**12),
    ("int64", "int8", -(2**63)),
    ("uint64", "uint32", 2**64 - 1),
    ("uint32", "int8", 4 * 10**9),
    ("int16", "int8", -(2**15)),
    ("int8", "int4", -128),
    ("float64", "int32", 1e300),
    ("float64", "int32", 2147483648.25),
    ("bfloat16", "uint8", -1.5),
]


@pytest.mark.parametrize("size", [1, 5000])
@pytest.mark.parametrize(("old", "new", "value"), CASTS)
def test_a_finding_has_the_exact_number_that_a_cast_cannot_represent(old, new, value, size):
    with jax.enable_x64(True), jdw.capture(check="casts") as run:
        array = np.zeros(size, jnp.dtype(old))
        array[size // 2] = value
        jax.jit(lambda x: x.astype(new))(array)
    (finding,) = run.findings
    assert f"1 value does not fit {new}, the first is {value}" in finding.headline


def item(x, i):
    return x[i]


def put(x, i):
    return x.at[i].set(1.0)


def take(x, i):
    return jnp.take(x, i)


def along(x, i):
    return jnp.take_along_axis(x, jnp.atleast_1d(i), 0)


def slice_of(x, i):
    return lax.dynamic_slice(x, (i,), (1,))


def segment(x, i):
    return jax.ops.segment_sum(x[:1], jnp.atleast_1d(i), x.shape[0])


def in_a_scan(x, i):
    return lax.scan(lambda total, k: (total + x[k], None), 0.0, jnp.atleast_1d(i))


INDICES = [
    ("uint32", 4 * 10**9),
    ("uint64", 2**64 - 301),
    ("int64", 10**12),
    ("int64", -(2**63)),
    ("int64", 2**32 + 3),
    ("int32", -301),
    ("int32", 2**31 - 1),
    ("int16", -1000),
    ("uint16", 2**16 - 1),
]


@pytest.mark.parametrize("function", [item, put, take, along, slice_of, segment, in_a_scan])
@pytest.mark.parametrize(("dtype", "index"), INDICES)
def test_a_finding_has_the_exact_index_that_is_out_of_bounds(function, dtype, index):
    x = np.arange(300.0, dtype=np.float32)
    with jax.enable_x64(True), jdw.capture(check="oob") as run:
        jax.jit(function)(x, np.dtype(dtype).type(index))
    (finding,) = run.findings
    assert finding.headline.startswith(f"index {index} is outside axis 0 (size 300)"), finding


@pytest.mark.parametrize("function", [item, put, take, along])
@pytest.mark.parametrize(("dtype", "index"), [("uint32", 4 * 10**9), ("int64", -(10**12)), ("int16", -1000)])
def test_a_finding_reports_the_one_index_that_is_out_of_bounds(function, dtype, index):
    indices = np.zeros(1000, dtype)
    indices[700] = index
    with jax.enable_x64(True), jdw.capture(check="oob") as run:
        jax.jit(function)(np.arange(300.0, dtype=np.float32), indices)
    (finding,) = run.findings
    assert finding.headline.startswith(f"index {index} is outside axis 0 (size 300)"), finding
    assert finding.seen == 1


@pytest.mark.parametrize("function", [item, take, slice_of])
def test_a_finding_reports_the_index_after_jaxs_wrap_around_of_a_small_type(function):
    with jdw.capture(check="oob") as run:
        jax.jit(function)(np.arange(300.0), np.int8(-128))
    (finding,) = run.findings
    assert finding.headline.startswith("index -128 is outside axis 0 (size 300)")
    assert "as int8 it becomes -84, and " in finding.why


def test_a_finding_reports_which_element_was_read_instead():
    with jdw.capture(check="oob") as run:
        (read,) = jax.jit(along)(np.arange(300.0), np.uint32(2**32 - 1))
    assert read == 299.0
    assert "as int32 it becomes 299, and element 299 was read." in run.findings[0].why


def test_an_index_of_two_types_reports_the_one_that_is_outside():
    with jdw.capture(check="oob") as run:
        jax.jit(lambda x, i, j: x[i, j])(np.ones((30, 400)), np.uint32(3), np.array([1, -999], np.int16))
    assert run.findings[0].headline == "index -999 is outside axis 1 (size 400)"


def test_indices_whose_element_is_left_out_are_silent():
    with jdw.capture(check="oob") as run:
        jax.jit(lambda x, i: jnp.where(i < 5, x[i], 0.0))(np.arange(300.0), np.array([3, 4 * 10**9], np.uint32))
    assert run.findings == []


BIRTHS = [
    (lambda x, y: x * y, np.full(1000, 1e300), np.full(1000, 1e200), "mul(1e+300, 1e+200) = inf at [0]"),
    (lambda x, y: x / y, np.float64(1.0), np.float64(1e-310), "div(1, 1e-310) = inf"),
    (lambda x, y: (x + y).astype(jnp.float32), np.float64(1e300), np.float64(0.0), "(1e+300) = inf"),
    (lambda x, y: x @ y, np.full((3, 3), 1e300), np.full((3, 3), 1e300), "finite numbers gives inf at [0, 0]"),
]


@pytest.mark.parametrize(("function", "x", "y", "says"), BIRTHS)
def test_a_finding_has_the_exact_operands_that_made_a_nan(function, x, y, says):
    with jax.enable_x64(True), jdw.capture(check="nonfinite") as run:
        jax.jit(function)(x, y)
    assert says in run.findings[0].why, run.findings[0]
