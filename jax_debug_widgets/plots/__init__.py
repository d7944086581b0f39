"""Draw series and arrays as matplotlib or treescope figures.

In:   names, steps and values.
Out:  matplotlib axes, treescope figures.
May know: events, numpy, matplotlib; treescope when something is drawn.   Must not know: JAX, Jupyter, store, session.
"""

from jax_debug_widgets.plots.array import draw_array
from jax_debug_widgets.plots.histograms import Histograms, Kind, draw_histograms
from jax_debug_widgets.plots.series import Series, draw_series
from jax_debug_widgets.plots.tree import array_tree

__all__ = ["Histograms", "Kind", "Series", "array_tree", "draw_array", "draw_histograms", "draw_series"]
