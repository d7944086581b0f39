"""Show runs in a notebook: a widget model carries messages, and an output shows a run with or without the model.

In:   messages in the wire format; a `Snapshot` of a run; a function that answers requests.
Out:  a widget model, MIME bundles, plain text.
May know: events, ipywidgets, anywidget, IPython.   Must not know: JAX, taps, store, transport, session.
"""

from jax_debug_widgets.widgets.channel import Channel
from jax_debug_widgets.widgets.kernel import has_front_end, may_ask, running_cell, running_kernel
from jax_debug_widgets.widgets.listing import ListingComm
from jax_debug_widgets.widgets.panel import Panel
from jax_debug_widgets.widgets.snapshot import (
    Course,
    CurveGroup,
    Fact,
    GroupLine,
    LaneSpread,
    PrintLine,
    Problem,
    ScalarSeries,
    Snapshot,
)
from jax_debug_widgets.widgets.summary import summary

__all__ = [
    "Channel",
    "Course",
    "CurveGroup",
    "Fact",
    "GroupLine",
    "LaneSpread",
    "ListingComm",
    "Panel",
    "PrintLine",
    "Problem",
    "ScalarSeries",
    "Snapshot",
    "has_front_end",
    "may_ask",
    "running_cell",
    "running_kernel",
    "summary",
]
