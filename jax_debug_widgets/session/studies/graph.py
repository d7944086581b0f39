"""Show the program of a call as nested boxes, see `jax_debug_widgets.graph`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.graphs import Graph
from jax_debug_widgets.session.studies.linked import lines_of_sources
from jax_debug_widgets.session.studies.programs import traced
from jax_debug_widgets.session.studies.seen import seen_of

if TYPE_CHECKING:
    from jax_debug_widgets.session.ports import CapturesAndRuns


def graph_of(
    session: CapturesAndRuns, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Graph:
    """Return the graph of the program of `function(*args, **kwargs)`, see `jax_debug_widgets.graph`.

    Raises:
      Exception: the error that tracing the function raises.
    """
    found, program = traced(session, function, args, kwargs)
    return Graph(program, found.paths, lines_of_sources(program), seen_of(session, program))
