"""Find results of a host function that JAX does not take: as JAX looks at them, before the program goes on with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jax_debug_widgets.events import RejectedResultError

Returns = Sequence[tuple[tuple[int, ...], np.dtype[Any]]]
"""Shape and dtype of each result that a program declares."""


def rejection(result: Sequence[Any], returns: Returns, given: Sequence[Any] = ()) -> RejectedResultError | None:
    """Why JAX does not take a result, in its words; None where it does. `given` are the arguments of the call."""
    try:
        why = _why(result, returns)
        return RejectedResultError(why, ", ".join(map(_type, given))) if why else None
    except Exception:  # noqa: BLE001 - an array of the user's own kind may raise anything; JAX asks it again.
        return None


def _type(argument: Any) -> str:
    return f"{argument.dtype}[{','.join(map(str, argument.shape))}]"


def _why(result: Sequence[Any], returns: Returns) -> str:
    if len(result) != len(returns):
        return f"Mismatched number of outputs from callback. Expected: {len(returns)}, Actual: {len(result)}"
    arrays = list(map(np.asarray, result))
    for array in arrays:
        if array.dtype.kind in "OSUMm":
            return f"Dtype {array.dtype} is not a valid JAX array type."
    for number, (array, (shape, dtype)) in enumerate(zip(arrays, returns, strict=True)):
        own = jax.dtypes.canonicalize_dtype(array.dtype)
        for what, expected, actual in (("shape", shape, array.shape), ("dtype", dtype, own)):
            if expected != actual:
                return f"Incorrect output {what} for return value #{number}: Expected: {expected}, Actual: {actual}"
    return ""
