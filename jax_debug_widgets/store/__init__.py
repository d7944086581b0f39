"""Keep what has been observed, bounded in events and bytes, counting what it had to drop.

In:   batches of firings in the order of time, with the calls they belong to.
Out:  events by position, range or site; columns of numbers. Safe under concurrent readers and writers.
May know: events, numpy.   Must not know: JAX, Jupyter, capture, transport.
"""

from jax_debug_widgets.store.budget import Budget
from jax_debug_widgets.store.columns import Columns
from jax_debug_widgets.store.segment import Segment
from jax_debug_widgets.store.store import SegmentSlice, Store

__all__ = ["Budget", "Columns", "Segment", "SegmentSlice", "Store"]
