"""Provide `%jaxdebug` and `%%jaxdebug`: parse a line, and call the session.

In:   lines and cells, from IPython.
Out:  calls of the session.
May know: every room below, IPython.   Must not know: JAX itself.
"""

from jax_debug_widgets.magics.extension import load, unload

__all__ = ["load", "unload"]
