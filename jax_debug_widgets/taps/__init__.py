"""Make the taps and recorders of captured programs; a recorder only notes its firing while the program waits.

In:   debugging equations, from `_jax`, at lowering.
Out:  firings, appended to an inbox that `session` empties. A recorder never blocks while the gate is open, and never
      raises into the program. The only exception is what the user's own callback raises.
May know: _jax, events.   Must not know: store, transport, widgets, IPython.
"""

from jax_debug_widgets.taps.capture import Capture
from jax_debug_widgets.taps.fstrings import formatted_while_tracing
from jax_debug_widgets.taps.settings import Settings
from jax_debug_widgets.taps.sites import SiteBook
from jax_debug_widgets.taps.trace_prints import Printed

__all__ = ["Capture", "Printed", "Settings", "SiteBook", "formatted_while_tracing"]
