"""The only room that joins the others: one capture is one `Run`.

In:   what the magics, or `jax_debug_widgets.capture`, ask for.
Out:  `Run`s; messages to the panel; answers to its requests.
May know: every room below.   Must not know: magics.
"""

from jax_debug_widgets.session.calls import CallSpan
from jax_debug_widgets.session.options import Options
from jax_debug_widgets.session.run import Run
from jax_debug_widgets.session.session import Recording, Session, current_session

__all__ = ["CallSpan", "Options", "Recording", "Run", "Session", "current_session"]
