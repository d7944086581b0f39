"""One array as a picture can show it: a slice, its statistics and its histogram."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jax_debug_widgets.events.numbers import as_numbers, edges_of, mean_and_std
from jax_debug_widgets.events.picture import is_picture
from jax_debug_widgets.transport.columns import pack
from jax_debug_widgets.transport.stops import ArrayStatistics

MAX_SIDE = 512
"""Rows and columns that are sent: what a screen shows."""

_BINS = 64
_PLANE_AXES, _PIXEL_AXES = 2, 3


def picture(value: np.ndarray, asked: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    """What an `array` message says of `value`, and its buffer; `asked` may have `index` and `image`.

    Raises:
      IndexError: it has no such index.
    """
    numbers = as_numbers(value)
    is_image = bool(asked.get("image")) and is_picture(value)
    kept = _PIXEL_AXES if is_image else _PLANE_AXES
    leading = max(numbers.ndim - kept, 0)
    index = ([int(i) for i in asked.get("index") or ()] + [0] * leading)[:leading]
    plane = np.atleast_2d(numbers[tuple(index)])
    stride = [max(-(-size // MAX_SIDE), 1) for size in plane.shape[:_PLANE_AXES]]
    shown = plane[:: stride[0], :: stride[1]]
    stats, histogram = statistics(numbers)
    specs, buffer = pack({"data": _pixels(shown.ravel()), "histogram": histogram})
    return {
        "dtype": value.dtype.name,
        "shape": list(value.shape),
        "index": index,
        "rows": shown.shape[0],
        "columns": shown.shape[1],
        "stride": stride,
        "stats": stats,
        "data": specs,
        **({"channels": value.shape[-1]} if is_image else {}),
    }, buffer


def _pixels(numbers: np.ndarray) -> np.ndarray:
    """As float32, or as they are where it cannot hold them."""
    with np.errstate(over="ignore"):
        short = numbers.astype(np.float32)
    return short if np.array_equal(np.isinf(short), np.isinf(numbers)) else numbers


def statistics(numbers: np.ndarray) -> tuple[ArrayStatistics, np.ndarray]:
    """Of float64 numbers of any shape; and uint32[64], the finite ones over equal bins from minimum to maximum."""
    finite = numbers[np.isfinite(numbers)]
    some = bool(finite.size)
    low, high = (float(finite.min()), float(finite.max())) if some else (0.0, 0.0)
    histogram, _ = np.histogram(finite, edges_of(low, high, _BINS))
    mean, std = mean_and_std(finite) if some else (None, None)
    stats: ArrayStatistics = {
        "size": numbers.size,
        "nan": int(np.isnan(numbers).sum()),
        "inf": int(np.isinf(numbers).sum()),
        "zero": int((numbers == 0).sum()),
        "min": low if some else None,
        "max": high if some else None,
        "mean": mean,
        "std": std,
    }
    return stats, histogram.astype(np.uint32)
