"""Compute statistics in float64 for arrays of any type, so that no finite number becomes infinite on the way."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

_LARGEST = float(np.finfo(np.float64).max)

_WIDTH = 1e-6
"""The width of all bins together for a single large number, relative to the number."""


def as_numbers(value: np.ndarray) -> np.ndarray:
    """Return the numbers as float64 of the same shape; for complex numbers, their magnitudes."""
    if value.dtype.kind != "c":
        return value.astype(np.float64)
    parts = value.astype(np.complex128)
    with np.errstate(over="ignore"):
        magnitude = np.abs(parts)
    return np.where(np.isfinite(parts), np.minimum(magnitude, _LARGEST), magnitude)


def scale_of(numbers: np.ndarray) -> float:
    """Return a power of two for finite numbers: divided by it, neither their sums nor their squares overflow."""
    largest = max(float(numbers.max(initial=0)), -float(numbers.min(initial=0)))
    return 2.0 ** (math.frexp(largest)[1] - 1)


def mean_and_std(finite: np.ndarray) -> tuple[float, float]:
    """Return mean and standard deviation of a non-empty array of finite float64 numbers."""
    scale = scale_of(finite)
    scaled = finite / scale
    mean = np.clip(scaled.mean(), scaled.min(), scaled.max())
    return float(mean) * scale, float(np.minimum(scaled.std(), np.abs(scaled).max())) * scale


def edges_of(low: float, high: float, bins: int) -> np.ndarray:
    """Return the edges of equal bins from `low` to `high`, float64[bins + 1].

    For a single number they begin at it, and are 1 wide in all, or as wide as float64 can resolve beside a large number.
    """
    if high <= low:
        high = min(low + max(1.0, abs(low) * _WIDTH), _LARGEST)
    scale = scale_of(np.array([low, high]))
    return np.linspace(low / scale, high / scale, bins + 1) * scale


def infinite(array: np.ndarray, intended: Sequence[str] = ()) -> np.ndarray:
    """Return which numbers are infinite, without the kinds in `intended` (`posinf`, `neginf`), which the program intends."""
    found = np.isinf(array)
    for name, is_such in (("posinf", np.isposinf), ("neginf", np.isneginf)):
        if name in intended:
            found &= ~is_such(array)
    return found
