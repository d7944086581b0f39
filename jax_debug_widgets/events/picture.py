"""Recognize arrays that are pictures."""

from __future__ import annotations

import numpy as np

_AXES = 3
_CHANNELS = (3, 4)
_LARGEST_TABLE = 8
"""An array of floats with at most this number of rows or columns is more likely a table, such as eight positions in
space, than a picture.
"""


def is_picture(value: np.ndarray) -> bool:
    """Whether `[..., height, width, 3 or 4]` are colours: bytes, or floats from 0 to 1 that are more than a small table."""
    if value.ndim < _AXES or value.shape[-1] not in _CHANNELS or not value.size:
        return False
    if value.dtype == np.uint8:
        return True
    # `bfloat16` and the like are not subtypes of `np.floating`.
    if "float" not in value.dtype.name or min(value.shape[-_AXES:-1]) <= _LARGEST_TABLE:
        return False
    return bool(((value >= 0) & (value <= 1)).all())
