"""Measure how far two arrays are apart: equal bit by bit, within the tolerance of their dtype, or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""Dtype -> the distance from 1 to the next larger number. Complex dtypes have the distance of their parts."""

TIMES = 16
"""The default tolerance, as a multiple of these distances."""

Verdict = Literal["equal", "close", "differs"]


@dataclass(frozen=True)
class Figure:
    """How far two arrays are apart.

    Attributes:
      verdict: `equal`: bit by bit, with all NaNs equal; `close`: within the tolerance; `differs`: beyond it.
      apart: the largest difference.
      relative: the largest difference relative to the larger of the two numbers.
      ulp: the largest difference in units in the last place.
      where: the index of the largest difference.
      nans: the number of NaNs in each.
      types: differing dtypes and shapes, in words; empty if they are the same.
      is_whole: whether both are whole numbers or booleans. They have no units in the last place.
      scale: the size of the numbers that cancel to zero in the second array, see `zeros.py`; `relative` is relative to it.
        0 for other arrays.
    """

    verdict: Verdict
    apart: float = 0.0
    relative: float = 0.0
    ulp: float = 0.0
    where: tuple[int, ...] = ()
    nans: tuple[int, int] = (0, 0)
    types: str = ""
    is_whole: bool = False
    scale: float = 0.0

    def __str__(self) -> str:
        if self.verdict == "equal":
            return "equal to the bit" + (f", {self.nans[0]} NaN in both" if self.nans[0] else "")
        verdict = "close" if self.verdict == "close" else "DIFFERS"
        if self.types and not self.apart:
            return f"{verdict}: {'the same numbers, ' if self.verdict == 'close' else ''}{self.types}"
        at = f" at {self.where}" if self.where else ""
        nans = f", NaN {self.nans[0]} against {self.nans[1]}" if self.nans[0] != self.nans[1] else ""
        types = f", {self.types}" if self.types else ""
        how = "" if self.is_whole else f" ({self.relative:.2g} relative), {self.ulp:.3g} ulp"
        how = f", {self.relative:.2g} of the numbers that cancel to 0" if self.scale else how
        return f"{verdict}: max |a - b| {self.apart:.3g}{how}{at}{nans}{types}"


def figure_of(one: Any, other: Any, rtol: float | None = None, scale: float = 0.0) -> Figure:
    """Measure how far two arrays are apart.

    Args:
      one, other: the arrays.
      rtol: the relative tolerance; None stands for 16 times the precision of the coarser dtype. The same fraction of
        the second array's size is added, see `size_of`: an element with cancellation is judged by the size of its array.
        Whole numbers and booleans are compared exactly.
      scale: the size of the numbers that cancel to zero in the second array; 0 for other arrays.
    """
    one, other = np.asarray(one), np.asarray(other)
    types = f"{one.dtype}{list(one.shape)} against {other.dtype}{list(other.shape)}"
    types = "" if (one.dtype, one.shape) == (other.dtype, other.shape) else types
    if one.shape != other.shape:
        return Figure("differs", types=types)
    coarser = max((one.dtype, other.dtype), key=_epsilon)
    before, after = _wide(one), _wide(other)
    nans = np.isnan(before), np.isnan(after)
    is_bitwise = (_bits(one) == _bits(other)) | (nans[0] & nans[1]) if not types else np.zeros(before.shape, bool)
    if not before.size or is_bitwise.all():
        return Figure("differs" if types else "equal", types=types, nans=(int(nans[0].sum()), int(nans[1].sum())))
    with np.errstate(all="ignore"):
        is_same = (before == after) | (nans[0] & nans[1])
        apart = np.where(is_same, 0.0, np.abs(before - after))
        larger = np.maximum(np.maximum(np.abs(before), np.abs(after)), scale)
        relative = np.where(is_same | (larger == 0), 0.0, apart / larger)
        allowed = TIMES * _epsilon(coarser) if rtol is None or not _epsilon(coarser) else rtol
        tolerance = allowed * (np.abs(after) + max(size_of(after, coarser), scale))
        is_close = is_same | (np.isfinite(before) & np.isfinite(after) & (apart <= tolerance))
    far = np.where(np.isnan(apart), np.inf, apart)
    where = np.unravel_index(int(np.argmax(far)), far.shape)[: one.ndim]
    with np.errstate(over="ignore"):  # Numbers may become infinite in the coarser dtype.
        steps = _ulp(one.astype(coarser), other.astype(coarser))
    return Figure(
        "close" if is_close.all() else "differs",
        float(far.max()),
        float(np.nan_to_num(relative, nan=np.inf).max()),
        steps,
        tuple(map(int, where)),
        (int(nans[0].sum()), int(nans[1].sum())),
        types,
        not _epsilon(coarser),
        scale,
    )


def _epsilon(dtype: Any) -> float:
    name = {"complex64": "float32", "complex128": "float64"}.get(str(dtype), str(dtype))
    return EPSILON.get(name, 0.125 if name.startswith("float8") else 0.0)


def _wide(array: np.ndarray) -> np.ndarray:
    """Convert an array to float64, with real and imaginary parts along a further axis."""
    if array.dtype.kind == "c":
        return np.stack([np.real(array), np.imag(array)], -1).astype(np.float64)
    return array.astype(np.float64)


def _bits(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "c":
        array = np.stack([np.real(array), np.imag(array)], -1)
    size = array.dtype.itemsize
    return np.ascontiguousarray(array).view(f"u{size}") if array.dtype.kind in "fV" and size in (1, 2, 4, 8) else array


def _ulp(one: np.ndarray, other: np.ndarray) -> float:
    """Return the largest distance, counted in floats; infinite if only one of the two is NaN, 0 for whole numbers."""
    if one.dtype.kind not in "fVc":
        return 0.0
    nans = [np.isnan(_wide(array)) for array in (one, other)]
    steps = np.where(nans[0] & nans[1], 0.0, _distance(_bits(one), _bits(other)))
    return float(np.where(nans[0] ^ nans[1], np.inf, steps).max())


def _distance(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the number of steps to the next float from one number to the other; each is given by its bits."""
    sign = 1 << (8 * one.dtype.itemsize - 1)
    below_zero = [bits >= sign for bits in (one, other)]
    sizes = [(bits & (sign - 1)).astype(np.int64) for bits in (one, other)]
    apart = np.abs(sizes[0] - sizes[1]).astype(np.float64)
    return np.where(below_zero[0] == below_zero[1], apart, sizes[0].astype(np.float64) + sizes[1])


def size_of(array: np.ndarray, dtype: Any = np.float32) -> float:
    """Return the root mean square of the numbers in an array of float64 that was of this dtype, see `is_ordinary`."""
    return root_mean_square(array[is_ordinary(array, dtype)])


def is_ordinary(array: np.ndarray, dtype: Any = np.float32) -> np.ndarray:
    """Tell for each number of an array whether it is finite, and does not stand for infinity.

    Numbers such as the -1e9 of masked scores stand for infinity: they are huge, and all others are far smaller.
    """
    finite = np.isfinite(array)
    sizes = np.abs(array, where=finite, out=np.zeros(array.shape))
    huge = finite & (sizes >= (_HUGE_IN_HALF if str(dtype) == "float16" else _HUGE))
    others = sizes[finite & ~huge]
    if huge.any() and others.any() and others.max() <= sizes[huge].min() * _FAR_SMALLER:
        return finite & ~huge
    return finite


_HUGE = 1e8
_HUGE_IN_HALF = 4e3
_FAR_SMALLER = 1e-3


def root_mean_square(array: np.ndarray) -> float:
    """Return the root mean square of the finite numbers in an array of float64; 0 if there are none."""
    finite = array[np.isfinite(array)]
    return float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0
