"""Turn a fired JAX callback into a `Firing` with a call site, and do nothing else while the program waits.

In:   debugging equations, from `_jax`, at lowering.
Out:  `Firing`s appended to an inbox that the room above empties. Never blocks; never raises into the program
      (a user's own callback excepted: what it raises is the user's).
May know: _jax, events.   Must not know: store, transport, widgets, IPython.
"""

from jax_debug_widgets.taps.capture import Capture
from jax_debug_widgets.taps.fstrings import formatted_while_tracing
from jax_debug_widgets.taps.settings import Settings
from jax_debug_widgets.taps.sites import SiteBook
from jax_debug_widgets.taps.trace_prints import Printed

__all__ = ["Capture", "Printed", "Settings", "SiteBook", "formatted_while_tracing"]
