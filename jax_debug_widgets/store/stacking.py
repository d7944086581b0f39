"""The values of many events as one array, where that can be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def one_after_the_other(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays as one: in their dtype or a common one, or in double precision where NumPy knows none (bfloat16 and float16)."""
    try:
        return np.concatenate(parts)
    except np.exceptions.DTypePromotionError:
        wide = np.complex128 if any(part.dtype.kind == "c" for part in parts) else np.float64
        return np.concatenate([part.astype(wide) for part in parts])


def require_one_shape(shapes: set[tuple[int, ...]]) -> None:
    """Refuse to stack values of several shapes.

    Raises:
      ValueError: there are several.
    """
    if len(shapes) > 1:
        told = ", ".join(map(str, sorted(shapes)))
        msg = f"its values have different shapes: {told}; run.events has them one by one, run.show draws one"
        raise ValueError(msg)
