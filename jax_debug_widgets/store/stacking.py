"""Stack the values of many events into one array, if their shapes agree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def one_after_the_other(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Concatenate arrays in a common dtype; in double precision if NumPy knows no common one (bfloat16 and float16)."""
    try:
        return np.concatenate(parts)
    except np.exceptions.DTypePromotionError:
        wide = np.complex128 if any(part.dtype.kind == "c" for part in parts) else np.float64
        return np.concatenate([part.astype(wide) for part in parts])


def require_one_shape(shapes: set[tuple[int, ...]]) -> None:
    """Refuse to stack values of several shapes.

    Raises:
      ValueError: there are several shapes.
    """
    if len(shapes) > 1:
        listed = ", ".join(map(str, sorted(shapes)))
        msg = f"its values have different shapes: {listed}; run.events has them one by one, run.show draws one"
        raise ValueError(msg)
