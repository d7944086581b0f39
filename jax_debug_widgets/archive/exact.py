"""Store values as float64, and as their bytes where float64 cannot represent them exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

_ALWAYS_EXACT = frozenset(map(np.dtype, ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float64")))


def as_doubles(values: Sequence[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Convert the values of `count` events, each an array `[count, *shape]`, to one table of float64.

    Returns:
      The table, float64[count, elements], with the real part of complex numbers; and object[count]: the original bytes
      for events with a value that float64 cannot represent, else None. It is None if float64 represents all values.
    """
    flat = [value.reshape(count, -1) for value in values]
    doubles = [_doubles(one) for one in flat]
    is_exact = np.ones(count, bool)
    for one, as_double in zip(flat, doubles, strict=True):
        is_exact &= _is_exact(one, as_double)
    table = np.concatenate([np.zeros((count, 0)), *doubles], axis=1)
    if is_exact.all():
        return table, None
    raw = np.full(count, None, object)
    bytes_of_all = np.concatenate([_bytes_of(one) for one in flat], axis=1)
    for row in np.flatnonzero(~is_exact).tolist():
        raw[row] = bytes_of_all[row].tobytes()
    return table, raw


def from_doubles(table: np.ndarray, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[np.dtype]) -> list[np.ndarray]:
    """Convert the table of `as_doubles` to the values, `[count, *shape]` each, if float64 represents them."""
    found, start = [], 0
    for shape, dtype in zip(shapes, dtypes, strict=True):
        stop = start + math.prod(shape)
        with np.errstate(all="ignore"):
            found.append(table[:, start:stop].astype(dtype).reshape(len(table), *shape))
        start = stop
    return found


def from_bytes(raw: np.ndarray, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[np.dtype]) -> list[np.ndarray]:
    """Convert the bytes of `as_doubles`, uint8[count, bytes], to the values, `[count, *shape]` each."""
    found, start = [], 0
    for shape, dtype in zip(shapes, dtypes, strict=True):
        stop = start + math.prod(shape) * dtype.itemsize
        own = np.ascontiguousarray(raw[:, start:stop])
        found.append(own.view(dtype).reshape(len(raw), *shape) if start < stop else np.zeros((len(raw), *shape), dtype))
        start = stop
    return found


def _doubles(flat: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return (np.real(flat) if flat.dtype.kind == "c" else flat).astype(np.float64)


def _is_exact(flat: np.ndarray, doubles: np.ndarray) -> np.ndarray | bool:
    """Return, for each row, whether float64 gives back all its bits; NaN has many bit patterns."""
    if flat.dtype in _ALWAYS_EXACT or (flat.dtype in (np.float32, np.float16) and not np.isnan(doubles).any()):
        return True
    with np.errstate(all="ignore"):
        again = doubles.astype(flat.dtype)
    return (_bytes_of(again) == _bytes_of(flat)).all(1)


def _bytes_of(flat: np.ndarray) -> np.ndarray:
    rows = np.ascontiguousarray(flat)
    return rows.view(np.uint8).reshape(len(rows), -1) if rows.size else np.zeros((len(rows), 0), np.uint8)
