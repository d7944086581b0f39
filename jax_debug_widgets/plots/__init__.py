"""Series and arrays as matplotlib figures.

In:   names, steps and values.
Out:  matplotlib axes.
May know: numpy, matplotlib (imported when something is drawn).   Must not know: JAX, Jupyter, store, session.
"""

from jax_debug_widgets.plots.array import draw_array
from jax_debug_widgets.plots.series import draw_series

__all__ = ["draw_array", "draw_series"]
