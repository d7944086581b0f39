"""What one observation is: frozen data, with no behaviour but conversion.

In:   nothing.
Out:  `CallSite`, `Event`, `Call`, `Tap`, `Firing`, `Status`: the words that all other rooms share.
May know: numpy.   Must not know: JAX, Jupyter, any other room.
"""

from jax_debug_widgets.events.call import Call, CallState, Origin
from jax_debug_widgets.events.event import Event, Firing, Tap
from jax_debug_widgets.events.site import CallSite, Kind, Phase
from jax_debug_widgets.events.status import Barrier, BarrierState, RunState, Status

__all__ = [
    "Barrier",
    "BarrierState",
    "Call",
    "CallSite",
    "CallState",
    "Event",
    "Firing",
    "Kind",
    "Origin",
    "Phase",
    "RunState",
    "Status",
    "Tap",
]
