"""Test that statistics of numbers of any size are right, and finite if the numbers are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from jax_debug_widgets.events.numbers import as_numbers, edges_of, mean_and_std

LARGEST = float(np.finfo(np.float64).max)


@pytest.mark.parametrize(
    "numbers",
    [
        [1.7e308, -1.7e308, 1e300, 2.0],
        [LARGEST] * 1000,
        [LARGEST, -LARGEST] * 3,
        [1e-300, 3e-300, 2e-300],
        [1e16, 1e16 + 2],
        [0.0, 0.0],
        [-5.0, 23.0, 7.5],
    ],
    ids=repr,
)
def test_mean_and_deviation_are_those_of_exact_arithmetic(numbers):
    exact = [Fraction(number) for number in numbers]
    mean = sum(exact) / len(exact)
    told_mean, told_std = mean_and_std(np.array(numbers))
    unit = max(map(abs, exact)) or Fraction(1)
    variance = sum(((number - mean) / unit) ** 2 for number in exact) / len(exact)
    assert abs(Fraction(told_mean) - mean) <= abs(mean) * Fraction(1e-12) + Fraction(1e-15) * unit
    np.testing.assert_allclose(float(Fraction(told_std) / unit), float(variance) ** 0.5, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize(
    ("low", "high"),
    [(-LARGEST, LARGEST), (LARGEST, LARGEST), (1e16, 1e16), (1e16, 1e16 + 2), (3.0, 3.0), (0.0, 5e-324)],
)
def test_every_number_has_a_bin(low, high):
    edges = edges_of(low, high, 64)
    assert np.isfinite(edges).all() and edges[0] == low and edges[-1] >= high
    assert np.histogram(np.array([low, high, low / 2 + high / 2]), edges)[0].sum() == 3


def test_magnitudes_of_complex_numbers_are_finite_where_these_are():
    large = np.array([3e38 + 3e38j, complex(np.inf, 0), complex(0, np.nan)], np.complex64)
    told = as_numbers(large)
    assert told[0] == pytest.approx(3e38 * 2**0.5) and told[1] == np.inf and np.isnan(told[2])
    assert as_numbers(np.array([1.5e308 + 1.5e308j])).tolist() == [LARGEST]
