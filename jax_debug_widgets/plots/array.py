"""Draw one array: as an image, a heat map, or a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets.events.numbers import as_numbers
from jax_debug_widgets.events.picture import is_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_VECTOR, _MATRIX, _IMAGE = 1, 2, 3
"""The numbers of axes of vectors, matrices and images."""


def draw_array(name: str, value: np.ndarray, *, ax: Axes | None = None) -> Axes:
    """Draw an array: a vector as a line, a matrix as a heat map, colours (see `is_picture`) as an image.

    If there are more axes, the leading ones are folded into rows. Values of both signs get a diverging colour map
    around zero; NaN and infinities have a colour of their own.

    Args:
      name: the title; the shape is added.
      value: real numbers or bools of any shape with at least one axis; complex numbers are drawn as `|z|`.
      ax: the axes to draw on; by default those of a new figure.

    Returns:
      The axes drawn on.

    Raises:
      ValueError: the array is a scalar or has no elements.
    """
    if value.ndim == 0 or value.size == 0:
        msg = f"{name} has shape {value.shape}: there is nothing to draw; a scalar's history is drawn by run.plot"
        raise ValueError(msg)
    if ax is None:
        from matplotlib import pyplot as plt

        _, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    numbers = as_numbers(value)
    ax.set_title(f"{name}  {value.dtype.name}{list(value.shape)}".replace("$", r"\$"))
    if numbers.ndim == _VECTOR:
        ax.plot(numbers, linewidth=1.2)
    elif numbers.ndim == _IMAGE and is_picture(value):
        ax.imshow(value if value.dtype == np.uint8 else numbers, aspect="auto")
    else:
        _heat_map(ax, numbers.reshape(-1, numbers.shape[-1]))
    return ax


def _heat_map(ax: Axes, rows: np.ndarray) -> None:
    finite = rows[np.isfinite(rows)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if low < 0 < high:
        high = max(-low, high)
        low = -high
    colours = "RdBu_r" if low < 0 else "viridis"
    from matplotlib import colormaps

    colour_map = colormaps[colours].with_extremes(bad="magenta")
    shown = np.ma.masked_invalid(rows)
    picture = ax.imshow(shown, aspect="auto", interpolation="nearest", cmap=colour_map, vmin=low, vmax=high)
    if finite.size:  # Without finite numbers there is no scale.
        ax.figure.colorbar(picture, ax=ax)
