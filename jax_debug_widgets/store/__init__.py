"""Keep the events of a run, bounded in events and bytes, and count the events that were dropped.

In:   batches of firings in the order of time, with the call that each belongs to.
Out:  events by position, range or site; columns of numbers. Safe under concurrent readers and writers.
May know: events, numpy.   Must not know: JAX, Jupyter, taps, transport.
"""

from jax_debug_widgets.store.budget import Budget
from jax_debug_widgets.store.columns import Columns
from jax_debug_widgets.store.segment import Segment
from jax_debug_widgets.store.store import SegmentSlice, Store

__all__ = ["Budget", "Columns", "Segment", "SegmentSlice", "Store"]
