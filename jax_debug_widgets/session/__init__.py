"""Join the other rooms: start and end captures, collect their events, answer the panel. One capture is one `Run`.

In:   requests of the magics and of `jax_debug_widgets.capture`.
Out:  `Run`s; messages to the panel; answers to its requests.
May know: every room below.   Must not know: magics.
"""

from typing import TYPE_CHECKING

from jax_debug_widgets.session.options import Options
from jax_debug_widgets.session.panel.snapshots import snapshot_of
from jax_debug_widgets.session.recording import Recording
from jax_debug_widgets.session.run.call_span import CallSpan
from jax_debug_widgets.session.run.run import Run
from jax_debug_widgets.session.session import Session
from jax_debug_widgets.session.studies.instrument import Instrumented
from jax_debug_widgets.without_jax import has_jax

if TYPE_CHECKING or has_jax():
    from jax_debug_widgets.session.session import current_session
else:
    from jax_debug_widgets.session.reading import reading_session as current_session

__all__ = ["CallSpan", "Instrumented", "Options", "Recording", "Run", "Session", "current_session", "snapshot_of"]
