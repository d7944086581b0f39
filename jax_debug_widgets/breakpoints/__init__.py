"""Hold a running program where the user asks, show where it stands, and let it go on or end.

In:   firings of breakpoints and of other taps, on the program's own threads; requests of the browser, from any thread.
Out:  `stop` messages and answers; values that the program goes on with instead of its own; `Stopped`, raised into the program.
May know: _jax, events, taps, transport, watch.   Must not know: widgets, IPython, the session.
"""

from jax_debug_widgets.breakpoints.conditions import StopCondition, conditions_of, parse_condition, unmet, unwatched
from jax_debug_widgets.breakpoints.debugger import Debugger
from jax_debug_widgets.breakpoints.interrupts import InterruptWatch
from jax_debug_widgets.breakpoints.job_stops import JobStops
from jax_debug_widgets.breakpoints.policy import Policy
from jax_debug_widgets.breakpoints.run_observers import PromptPlace, RunObservers
from jax_debug_widgets.breakpoints.stepping import Stepper
from jax_debug_widgets.events import Stopped

__all__ = [
    "Debugger",
    "InterruptWatch",
    "JobStops",
    "Policy",
    "PromptPlace",
    "RunObservers",
    "Stepper",
    "StopCondition",
    "Stopped",
    "conditions_of",
    "parse_condition",
    "unmet",
    "unwatched",
]
