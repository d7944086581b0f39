"""Test the arithmetic of checks: one sum distinguishes finite arrays, infinities and NaN."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jax_debug_widgets._jax.passes.check_arithmetic import worst

SHAPES = [(), (1,), (7,), (300,), (3, 200), (0, 3), (64, 65), (300_000,)]
DTYPES = ["float32", "float16", "bfloat16", "float8_e5m2", "float64"]


def _kind(number):
    return "nan" if np.isnan(number) else "finite" if np.isfinite(number) else "infinite"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_worst_element_is_reported(shape, dtype):
    with jax.enable_x64(dtype == "float64"):
        largest = float(jnp.finfo(dtype).max)
        values = np.full(shape, largest)
        values.reshape(-1)[1::2] = -largest
        told = jax.jit(worst)
        assert _kind(told(jnp.asarray(values, dtype))) == "finite"
        if not values.size:
            return
        for place in (0, values.size // 2, values.size - 1):
            odd = values.reshape(-1).copy()
            odd[place] = np.inf
            assert _kind(told(jnp.asarray(odd.reshape(shape), dtype))) == "infinite"
            odd[-1 - place] = -np.inf
            assert _kind(told(jnp.asarray(odd.reshape(shape), dtype))) == "infinite"
            odd[0] = np.nan
            assert _kind(told(jnp.asarray(odd.reshape(shape), dtype))) == "nan"
