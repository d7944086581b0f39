"""Test `nonfinite` in programs with hundreds of arguments and results, as training steps have them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jax_debug_widgets as jdw
from jax_debug_widgets._jax.passes.check_arithmetic import joined

COUNT = 150


def halved(weights, scale):
    return {name: weight / 2 / scale for name, weight in weights.items()}


def weights_with(bad):
    weights = {f"w{number:03d}": np.full(2, number + 1, np.float32) for number in range(COUNT)}
    return weights | {f"w{number:03d}": np.array([1, value], np.float32) for number, value in bad.items()}


@pytest.mark.parametrize(
    ("bad", "first", "count"),
    [
        ({}, None, 0),
        ({149: np.nan}, "w149", 1),
        ({17: np.nan, 40: np.nan, 120: np.inf}, "w017", 2),
        ({0: np.inf, 16: np.nan, 33: np.nan, 34: np.nan}, "w016", 3),
    ],
)
def test_the_first_argument_with_nan_is_named_and_all_are_counted(bad, first, count):
    with jdw.capture(check="nonfinite") as run:
        jax.jit(halved)(weights_with(bad), jnp.float32(3))
    assert len(run.findings) == bool(count)
    for finding in run.findings:
        assert f"argument `weights['{first}']` of `halved` arrives with NaN" in finding.headline
        assert (f"{count} arguments have NaN" in finding.why) == (count > 1)


def test_a_nan_of_one_result_among_many_is_found():
    with jdw.capture(check="nonfinite") as run:
        jax.jit(halved)(weights_with({77: 0.0}), jnp.float32(0))
    assert run.findings
    assert "weight / 2 / scale" in run.findings[0].headline


def test_a_barrier_keeps_hundreds_of_numbers_out_of_one_kernel():
    def total(numbers):
        return joined(lax.add, numbers)

    numbers = [np.int32(one) for one in range(300)]
    names = [one.primitive.name for one in jax.make_jaxpr(total)(numbers).eqns]
    runs = "".join("|" if name == "optimization_barrier" else "." for name in names).split("|")
    assert jax.jit(total)(numbers) == sum(range(300))
    assert len(runs) == 3  # 300 numbers become 19, these become 2.
    assert len(runs[-1]) == 1
