"""Prepare an array for a picture: a slice, its statistics and its histogram."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from jax_debug_widgets.events.numbers import as_numbers, edges_of, mean_and_std
from jax_debug_widgets.events.picture import is_picture
from jax_debug_widgets.transport.columns import pack
from jax_debug_widgets.transport.stops import ArrayStatistics

MAX_SIDE = 512
"""The most rows and the most columns that are sent; a screen shows about as many."""

MAX_TILES = 256
"""The most pictures beside each other that are sent."""

_BINS = 64
_PLANE_AXES, _PIXEL_AXES = 2, 3


def picture(value: np.ndarray, asked: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Return the content of an `array` message about `value`, and its buffer.

    Args:
      asked: the request; it may have `index`, `image` and `axes`.

    Raises:
      IndexError: the value has no such index, or no such axes.
    """
    numbers = as_numbers(value)
    stats, histogram = statistics(numbers)
    if bool(asked.get("image")) and is_picture(value):
        index, plane = _at(numbers, asked, _PIXEL_AXES)
        stride, shown = _thinned(plane, MAX_SIDE)
        extra: dict[str, Any] = {"channels": value.shape[-1]}
    elif asked.get("axes"):
        index, tiles, extra = _tiles_of(numbers, asked)
        stride, shown = _thinned(np.moveaxis(tiles, 0, 2), max(MAX_SIDE // max(math.ceil(math.sqrt(len(tiles))), 1), 1))
        shown = np.moveaxis(shown, 2, 0)
    else:
        index, plane = plane_of(numbers, asked)
        stride, shown = _thinned(plane, MAX_SIDE)
        extra = {}
    rows, columns = shown.shape[1:] if "axes" in extra else shown.shape[:_PLANE_AXES]
    specs, buffer = pack({"data": _pixels(shown.ravel()), "histogram": histogram})
    return {
        "dtype": value.dtype.name,
        "shape": list(value.shape),
        "index": index,
        "rows": rows,
        "columns": columns,
        "stride": stride,
        "stats": stats,
        "data": specs,
        **extra,
    }, buffer


def plane_of(value: np.ndarray, asked: Mapping[str, Any]) -> tuple[list[int], np.ndarray]:
    """Return the index that `asked` means, and the plane there: over the first two of its `axes`, else over the last two axes.

    Raises:
      IndexError: the value has no such index, or no such axes.
    """
    axes = _axes_of(value, asked)[:_PLANE_AXES]
    return _at(np.moveaxis(value, axes, range(-len(axes), 0)) if axes else value, asked, _PLANE_AXES)


def _at(value: np.ndarray, asked: Mapping[str, Any], kept: int) -> tuple[list[int], np.ndarray]:
    leading = max(value.ndim - kept, 0)
    index = ([int(i) for i in asked.get("index") or ()] + [0] * leading)[:leading]
    return index, np.atleast_2d(value[tuple(index)])


def _axes_of(value: np.ndarray, asked: Mapping[str, Any]) -> list[int]:
    axes = [int(axis) for axis in asked.get("axes") or ()]
    if axes and (len(axes) < _PLANE_AXES or len(set(axes)) < len(axes) or not all(0 <= a < value.ndim for a in axes)):
        raise IndexError(f"an array of {value.ndim} axes has no picture over axes {axes}")
    return axes


def _tiles_of(numbers: np.ndarray, asked: Mapping[str, Any]) -> tuple[list[int], np.ndarray, dict[str, Any]]:
    """Return the index along the axes that are not shown, the first tiles [tiles, rows, columns], and fields of the message."""
    axes = _axes_of(numbers, asked)
    plane, tiled = axes[:_PLANE_AXES], axes[_PLANE_AXES:]
    moved = np.moveaxis(numbers, [*tiled, *plane], range(-len(axes), 0))
    leading = numbers.ndim - len(axes)
    index = ([int(i) for i in asked.get("index") or ()] + [0] * leading)[:leading]
    at = moved[tuple(index)]
    all_tiles = math.prod(at.shape[: len(tiled)])
    tiles = at.reshape(all_tiles, *at.shape[len(tiled) :])[:MAX_TILES]
    return index, tiles, {"axes": axes, "tiles": [len(tiles), all_tiles]}


def _thinned(plane: np.ndarray, most: int) -> tuple[list[int], np.ndarray]:
    """Thin a plane to at most `most` rows and columns. Return how many rows and columns each stands for, and the plane."""
    stride = [max(-(-size // most), 1) for size in plane.shape[:_PLANE_AXES]]
    return stride, plane[:: stride[0], :: stride[1]]


def _pixels(numbers: np.ndarray) -> np.ndarray:
    """Return the numbers as float32; unchanged if float32 cannot hold one of them."""
    with np.errstate(over="ignore"):
        short = numbers.astype(np.float32)
    return short if np.array_equal(np.isinf(short), np.isinf(numbers)) else numbers


def statistics(numbers: np.ndarray) -> tuple[ArrayStatistics, np.ndarray]:
    """Return the statistics of float64 numbers of any shape, and uint32[64]: the counts of finite numbers in equal bins."""
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
