"""Find the values of a program by the names of its source, and choose which of them are watched.

In:   what a person asks for; the bodies of programs that are about to be compiled.
Out:  for each body what is to be computed of which variables, and the taps that it is handed to. No edit of the user's code.
May know: _jax, taps, events.   Must not know: store, transport, widgets, IPython.
"""

from jax_debug_widgets.watch.histogram import NAMES as HISTOGRAM
from jax_debug_widgets.watch.lanes import NAME as LANES
from jax_debug_widgets.watch.noted import lines_of
from jax_debug_widgets.watch.price import price
from jax_debug_widgets.watch.scopes import Scope, Scopes
from jax_debug_widgets.watch.select import BY_LANE, Watch
from jax_debug_widgets.watch.source import is_library
from jax_debug_widgets.watch.told import NamedPlace, named_places, why_unwatched
from jax_debug_widgets.watch.watching import Watching

__all__ = [
    "BY_LANE",
    "HISTOGRAM",
    "LANES",
    "NamedPlace",
    "Scope",
    "Scopes",
    "Watch",
    "Watching",
    "is_library",
    "lines_of",
    "named_places",
    "price",
    "why_unwatched",
]
