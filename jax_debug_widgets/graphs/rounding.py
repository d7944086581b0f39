"""Measure how many digits each equation of a program loses, compared with the same program in float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jax_debug_widgets.graphs.figures import EPSILON, TIMES, Figure, figure_of, is_ordinary, root_mean_square

Steps = tuple[int, ...]


def is_inexact(array: Any) -> bool:
    """Return whether an array has real or complex numbers. `np.inexact` lacks `bfloat16` and similar types."""
    return array.dtype.kind in "fc" or array.dtype.name.startswith(("bfloat", "float"))


def half_step(dtype: Any) -> float:
    """Return the largest relative error of rounding a number to a dtype."""
    name = {"complex64": "float32", "complex128": "float64"}.get(str(dtype), str(dtype))
    return EPSILON.get(name, 2.0**-4) / 2


def error_of(narrow: Any, wide: Any, scale: float = 0.0) -> float:
    """Return the root mean square of the difference, relative to that of the wide array, or to `scale` if it is not 0.

    Numbers that stand for infinity are left out, see `is_ordinary`. It is infinite if the narrow array has a non-finite
    number where the wide one has a finite one.
    """
    if not narrow.size:
        return 0.0
    one, other = (_parts(array) for array in (narrow, wide))
    if (~np.isfinite(one) & np.isfinite(other)).any():
        return float("inf")
    finite = np.isfinite(one) & is_ordinary(other, narrow.dtype)
    largest = np.abs(other, where=finite, out=np.zeros(other.shape)).max()
    if not finite.any() or (largest == 0 and not np.abs(one[finite]).any()):
        return 0.0
    if scale:
        return root_mean_square((one[finite] - other[finite]) / scale)
    if largest == 0:
        return float("inf")
    apart = (one[finite] - other[finite]) / largest
    return float(np.sqrt(np.mean(apart**2) / np.mean((other[finite] / largest) ** 2)))


def _parts(array: Any) -> np.ndarray:
    if array.dtype.kind == "c":
        array = np.stack([np.real(array), np.imag(array)], -1)
    return array.astype(np.float64)


@dataclass(eq=False)
class Measure:
    """The measured errors of an equation, over all steps of the loops around it.

    Attributes:
      error: the largest error of its results.
      growth: the largest ratio of the error to that of the operands.
      born: the largest growth in steps with operands within the tolerance: the loss of this equation itself.
      born_error: the error in the step of `born`.
      born_step: that step, for each loop around the equation.
      figures: the differences of its results in the step with the largest error.
      first: the first step of each loop around it at which it is beyond the tolerance; None if it never is.
      invented: an infinity or NaN where float64 has a number, in words; empty if there is none.
      follows: whether another equation is the cause of `invented`: it is no overflow, and operands were beyond the tolerance.
      otherwise: how many booleans or whole numbers float64 would have decided otherwise.
    """

    error: float = 0.0
    growth: float = 0.0
    born: float = 0.0
    born_error: float = 0.0
    born_step: Steps = ()
    figures: tuple[Figure, ...] = ()
    first: Steps | None = None
    invented: str = ""
    follows: bool = False
    otherwise: int = 0

    def note(
        self,
        narrow: Sequence[Any],
        wide: Sequence[Any],
        scales: Sequence[float],
        operands: Sequence[Any],
        before: float,
        steps: Steps,
    ) -> list[float]:
        """Add the results of one step; return the error of each result.

        Args:
          narrow, wide: the results, in their dtypes and in float64.
          scales: the scale of each result that is zero in float64, see `zeros.py`; 0 for the others.
          operands: the dtypes of the operands.
          before: the largest error of the operands.
          steps: the step of each loop around the equation.
        """
        results = list(zip(narrow, wide, scales, strict=True))
        pairs = [(one, other) for one, other, _ in results if is_inexact(one)]
        if not pairs:
            return [0.0] * len(narrow)
        errors = [error_of(*one) if is_inexact(one[0]) else 0.0 for one in results]
        error = max(errors)
        finest = min(map(half_step, (*(one.dtype for one, _ in pairs), *operands)))
        floor = max(before, finest)
        growth = 1.0 if before == float("inf") else error / floor
        figures = tuple(figure_beside(*one) for one in results if is_inexact(one[0]))
        self.growth = max(self.growth, growth)
        if growth > self.born and before <= 2 * TIMES * finest:
            self.born, self.born_error, self.born_step = growth, error, steps
        if not self.figures or error > self.error:
            self.error, self.figures = error, figures
        if self.first is None and any(one.verdict == "differs" for one in figures):
            self.first = steps
        if error == float("inf") and before != error and not self.invented:
            self.invented, fits = next((found for one, other in pairs if (found := _invented(one, other))), ("", False))
            self.follows = fits and before > 2 * TIMES * finest
        return errors


def figure_beside(narrow: Any, wide: Any, scale: float = 0.0) -> Figure:
    """Measure how far an array is from the same one in float64, by the tolerance of the array's own dtype."""
    found = figure_of(narrow, wide, scale=scale)
    is_same = not found.apart and found.nans[0] == found.nans[1]
    return Figure("equal", nans=found.nans) if is_same else replace(found, types="")


def _invented(narrow: Any, wide: Any) -> tuple[str, bool] | None:
    """Describe the first non-finite number where float64 has a finite one. Return also whether that one fits the dtype."""
    one, other = (_parts(array) for array in (narrow, wide))
    places = np.argwhere(~np.isfinite(one) & np.isfinite(other))
    if not len(places):
        return None
    at = tuple(places[0])
    with np.errstate(over="ignore"):
        fits = np.isfinite(wide.astype(narrow.dtype)[at[: wide.ndim]])
    return f"{one[at]:g} where float64 has {other[at]:.3g}", bool(fits)
