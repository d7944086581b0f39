"""Find the values of a program by the names of its source, and choose which of them are watched.

In:   the user's options; the bodies of programs that are about to be compiled.
Out:  for each body the computation from its variables, and the taps that take the results. The user's code is
      not edited.
May know: _jax, taps, events.   Must not know: store, transport, widgets, IPython.
"""

from jax_debug_widgets._jax.origins.libraries import is_library
from jax_debug_widgets.watch.choosing.notes import no_values, not_found, notes_of
from jax_debug_widgets.watch.choosing.price import price
from jax_debug_widgets.watch.choosing.program_watchers import ProgramWatchers
from jax_debug_widgets.watch.choosing.select import BY_LANE, Watch
from jax_debug_widgets.watch.choosing.stop_conditions import MOST_ELEMENTS, Stops
from jax_debug_widgets.watch.choosing.watched_taps import body_of, position_of
from jax_debug_widgets.watch.choosing.why_unwatched import NamedPlace, named_places, why_unwatched
from jax_debug_widgets.watch.naming.scopes import Scope, Scopes
from jax_debug_widgets.watch.naming.variables import names_of_variables
from jax_debug_widgets.watch.statistics.full_values import sample_text
from jax_debug_widgets.watch.statistics.layout import HISTOGRAM, LANES

__all__ = [
    "BY_LANE",
    "HISTOGRAM",
    "LANES",
    "MOST_ELEMENTS",
    "NamedPlace",
    "ProgramWatchers",
    "Scope",
    "Scopes",
    "Stops",
    "Watch",
    "body_of",
    "is_library",
    "named_places",
    "names_of_variables",
    "no_values",
    "not_found",
    "notes_of",
    "position_of",
    "price",
    "sample_text",
    "why_unwatched",
]
