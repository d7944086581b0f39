"""Turn what has happened into few messages for the browser, and pace them.

In:   events' data as columns, sites, calls, status.
Out:  messages in the wire format, at most 30 ticks a second, from a thread of its own, to a callable it is handed.
May know: events, numpy.   Must not know: JAX, Jupyter, taps, store.
"""

from jax_debug_widgets.transport.batch import EventColumns, Points, batch_message, rows_message
from jax_debug_widgets.transport.pump import Pump
from jax_debug_widgets.transport.wire import reply

__all__ = ["EventColumns", "Points", "Pump", "batch_message", "reply", "rows_message"]
