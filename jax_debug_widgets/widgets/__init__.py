"""The panel in the notebook: the model that carries messages, and the output that shows a run with or without it.

In:   messages in the wire format; a `Snapshot` of a run; a callable that answers requests.
Out:  a widget model, MIME bundles, plain text.
May know: events, ipywidgets, anywidget, IPython.   Must not know: JAX, taps, store, transport, session.
"""

from jax_debug_widgets.widgets.channel import Channel
from jax_debug_widgets.widgets.kernel import has_front_end, may_ask, running_cell, running_kernel
from jax_debug_widgets.widgets.listing import ListingComm
from jax_debug_widgets.widgets.panel import Panel
from jax_debug_widgets.widgets.snapshot import Course, CurveGroup, Fact, GroupLine, PrintLine, ScalarSeries, Snapshot
from jax_debug_widgets.widgets.summary import summary

__all__ = [
    "Channel",
    "Course",
    "CurveGroup",
    "Fact",
    "GroupLine",
    "ListingComm",
    "Panel",
    "PrintLine",
    "ScalarSeries",
    "Snapshot",
    "has_front_end",
    "may_ask",
    "running_cell",
    "running_kernel",
    "summary",
]
