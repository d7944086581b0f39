"""Find results of a host function that JAX will reject, by the checks that JAX makes before the program goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jax_debug_widgets._jax.compat import versions
from jax_debug_widgets.events import RejectedResultError

Returns = Sequence[tuple[tuple[int, ...], np.dtype[Any]]]
"""Shape and dtype of each result that a program declares."""


def rejection(result: Sequence[Any], returns: Returns, given: Sequence[Any] = ()) -> RejectedResultError | None:
    """Return the error, in JAX's words, for a result that JAX rejects; None if JAX takes the result.

    Args:
      given: the arguments of the call, for the error's text.
    """
    try:
        why = _why(result, returns)
        return RejectedResultError(why, ", ".join(map(_type, given))) if why else None
    except Exception:  # noqa: BLE001 - the user's own array types may raise anything; JAX will raise it again.
        return None


def _type(argument: Any) -> str:
    return f"{argument.dtype}[{','.join(map(str, argument.shape))}]"


def _why(result: Sequence[Any], returns: Returns) -> str:
    if len(result) != len(returns):
        return f"Mismatched number of outputs from callback. Expected: {len(returns)}, Actual: {len(result)}"
    arrays = list(map(np.asarray, result))
    if versions.CALLBACKS_CHECK_DTYPES_FIRST:
        for array in arrays:
            if array.dtype.kind in "OSUMm":
                return f"Dtype {array.dtype} is not a valid JAX array type."
    for number, (array, (shape, dtype)) in enumerate(zip(arrays, returns, strict=True)):
        own = jax.dtypes.canonicalize_dtype(array.dtype)
        for what, expected, actual in (("shape", shape, array.shape), ("dtype", dtype, own)):
            if expected != actual:
                return f"Incorrect output {what} for return value #{number}: Expected: {expected}, Actual: {actual}"
    return ""
