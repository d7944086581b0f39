"""What one observation is: frozen data, with no behaviour but conversion.

In:   nothing.
Out:  `CallSite`, `Event`, `Call`, `Tap`, `Firing`, `Status`: the words that all other rooms share.
May know: numpy.   Must not know: JAX, Jupyter, any other room.
"""

from jax_debug_widgets.events.call import Call, CallState, Origin
from jax_debug_widgets.events.event import Event
from jax_debug_widgets.events.finding import Finding
from jax_debug_widgets.events.host_call import Asked, CallbackSummary, HostCall, Outcome
from jax_debug_widgets.events.lot import Lot
from jax_debug_widgets.events.site import CallSite, Kind, Phase
from jax_debug_widgets.events.status import Barrier, BarrierState, RunState, Status
from jax_debug_widgets.events.tap import Firing, Nesting, Tap

__all__ = [
    "Asked",
    "Barrier",
    "BarrierState",
    "Call",
    "CallSite",
    "CallState",
    "CallbackSummary",
    "Event",
    "Finding",
    "Firing",
    "HostCall",
    "Kind",
    "Lot",
    "Nesting",
    "Origin",
    "Outcome",
    "Phase",
    "RunState",
    "Status",
    "Tap",
]
