"""Arrays of any type as float64, however large: nothing finite becomes infinite on the way to its statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

_LARGEST = float(np.finfo(np.float64).max)

_WIDTH = 1e-6
"""How wide, in parts of it, the bins of a single large number are together."""


def as_numbers(value: np.ndarray) -> np.ndarray:
    """float64 of the same shape; of complex numbers the magnitude."""
    if value.dtype.kind != "c":
        return value.astype(np.float64)
    parts = value.astype(np.complex128)
    with np.errstate(over="ignore"):
        magnitude = np.abs(parts)
    return np.where(np.isfinite(parts), np.minimum(magnitude, _LARGEST), magnitude)


def scale_of(numbers: np.ndarray) -> float:
    """A power of two by which finite numbers can be divided, so that neither their sums nor their squares overflow."""
    largest = max(float(numbers.max(initial=0)), -float(numbers.min(initial=0)))
    return 2.0 ** (math.frexp(largest)[1] - 1)


def mean_and_std(finite: np.ndarray) -> tuple[float, float]:
    """The same for a non-empty array of float64 numbers."""
    scale = scale_of(finite)
    scaled = finite / scale
    mean = np.clip(scaled.mean(), scaled.min(), scaled.max())
    return float(mean) * scale, float(np.minimum(scaled.std(), np.abs(scaled).max())) * scale


def edges_of(low: float, high: float, bins: int) -> np.ndarray:
    """float64[bins + 1], from `low` to `high`; of a single number from it on, one wide or what can be told apart from it."""
    if high <= low:
        high = min(low + max(1.0, abs(low) * _WIDTH), _LARGEST)
    scale = scale_of(np.array([low, high]))
    return np.linspace(low / scale, high / scale, bins + 1) * scale


def infinite(array: np.ndarray, meant: Sequence[str] = ()) -> np.ndarray:
    """Where numbers are infinite, without those that are meant: `posinf` and `neginf` by name."""
    found = np.isinf(array)
    for name, is_such in (("posinf", np.isposinf), ("neginf", np.isneginf)):
        if name in meant:
            found &= ~is_such(array)
    return found
