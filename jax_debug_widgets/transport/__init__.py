"""Make the messages to the browser, and send few of them a second.

In:   events as columns, sites, calls, status.
Out:  messages in the wire format; at most 30 ticks a second, in a separate thread, of a function that the caller passes.
May know: events, numpy.   Must not know: JAX, Jupyter, taps, store.
"""

from jax_debug_widgets.transport.batch import EventColumns, Points, batch_message, rows_message
from jax_debug_widgets.transport.pump import Pump
from jax_debug_widgets.transport.wire import reply

__all__ = ["EventColumns", "Points", "Pump", "batch_message", "reply", "rows_message"]
