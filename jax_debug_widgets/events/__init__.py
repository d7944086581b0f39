"""Define the data that all rooms share: frozen records of what was observed, which only convert themselves.

In:   nothing.
Out:  `CallSite`, `Event`, `Call`, `Tap`, `Firing`, `Status` and others.
May know: numpy.   Must not know: JAX, Jupyter, any other room.
"""

from jax_debug_widgets.events.call import Call, CallState, Origin
from jax_debug_widgets.events.event import Event
from jax_debug_widgets.events.finding import Finding, FirstNonFinite, NonFinite
from jax_debug_widgets.events.firing_batch import Column, FiringBatch, TapFirings, joined
from jax_debug_widgets.events.host_call import CallbackSummary, CallContext, HostCall, Outcome, RejectedResultError
from jax_debug_widgets.events.inbox import COUNTED, Inbox
from jax_debug_widgets.events.nesting import Nesting
from jax_debug_widgets.events.program_taps import ProgramTaps
from jax_debug_widgets.events.site import NO_VALUE, CallSite, Derivative, Kind, Phase, Watched, distinguishing_texts
from jax_debug_widgets.events.stale_read import StaleRead
from jax_debug_widgets.events.stamps import times_of
from jax_debug_widgets.events.status import Barrier, BarrierState, Breakpoint, ProcessStatus, RunState, Status
from jax_debug_widgets.events.stopped import Stopped
from jax_debug_widgets.events.tap import Bundle, Caller, Firing, Tap
from jax_debug_widgets.events.thread_spans import ThreadSpans
from jax_debug_widgets.events.trace_print import TracePrint

__all__ = [
    "COUNTED",
    "NO_VALUE",
    "Barrier",
    "BarrierState",
    "Breakpoint",
    "Bundle",
    "Call",
    "CallContext",
    "CallSite",
    "CallState",
    "CallbackSummary",
    "Caller",
    "Column",
    "Derivative",
    "Event",
    "Finding",
    "Firing",
    "FiringBatch",
    "FirstNonFinite",
    "HostCall",
    "Inbox",
    "Kind",
    "Nesting",
    "NonFinite",
    "Origin",
    "Outcome",
    "Phase",
    "ProcessStatus",
    "ProgramTaps",
    "RejectedResultError",
    "RunState",
    "StaleRead",
    "Status",
    "Stopped",
    "Tap",
    "TapFirings",
    "ThreadSpans",
    "TracePrint",
    "Watched",
    "distinguishing_texts",
    "joined",
    "times_of",
]
