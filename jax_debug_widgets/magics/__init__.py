"""`%jaxdebug` and `%%jaxdebug`: parse a line, ask the session; nothing else.

In:   lines and cells, from IPython.
Out:  calls of the session.
May know: session, widgets, IPython.   Must not know: JAX.
"""

from jax_debug_widgets.magics.extension import load, unload

__all__ = ["load", "unload"]
