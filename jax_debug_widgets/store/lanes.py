"""Lay out the lanes of a `vmap` as events: one firing holds all lanes, and each lane is an event."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jax_debug_widgets.events import Tap


def flat_lanes(tap: Tap) -> np.ndarray:
    """Return the row-major index of the lane of each event of a firing, in JAX's order, int64[events of a firing]."""
    return np.arange(tap.size).reshape(tap.lanes).T.ravel()


def by_event(tap: Tap, value: int, column: np.ndarray) -> np.ndarray:
    """Lay a value's column out by event.

    `[firings, *lanes that the value has, *shape]` -> `[firings, events of a firing, *shape]`.
    """
    return laid_out(tap, tap.mapped[value] if tap.lanes else (), tap.shapes[value], column)


def laid_out(tap: Tap, mapped: Sequence[bool], shape: tuple[int, ...], column: np.ndarray) -> np.ndarray:
    """Lay an array out as `by_event` does. It has the lanes `mapped` (one flag a `vmap` axis) and `shape` beside them."""
    if not tap.lanes:
        return column[:, None]
    axes = [size if present else 1 for size, present in zip(tap.lanes, mapped, strict=True)]
    full = np.broadcast_to(column.reshape(len(column), *axes, *shape), (len(column), *tap.lanes, *shape))
    lane_axes = range(1, 1 + len(tap.lanes))
    ordered = full.transpose(0, *reversed(lane_axes), *range(1 + len(tap.lanes), full.ndim))
    return ordered.reshape(len(column), tap.size, *shape)
