"""What has been observed, bounded in events and bytes, counting what it had to drop.

In:   `Firing`s in arrival order, with the calls they belong to.
Out:  events by position, range or site; columns of numbers. Safe under concurrent readers and writers.
May know: events, numpy.   Must not know: JAX, Jupyter, capture, transport.
"""

from jax_debug_widgets.store.segment import Columns, Segment
from jax_debug_widgets.store.store import Budget, Store

__all__ = ["Budget", "Columns", "Segment", "Store"]
