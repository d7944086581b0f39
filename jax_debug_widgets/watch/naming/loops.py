"""Find the loops among equations, and the equations that JAX has moved out of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jax_debug_widgets._jax.origins.frames import Level
from jax_debug_widgets.watch.naming.source_sites import Origin, Places, places_of

LOOPS = {"scan": "jaxpr", "while": "body_jaxpr"}
"""The primitive of a loop -> the parameter that holds the jaxpr of an iteration."""


def loops_among(equations: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Yield the number of each loop among equations, with the jaxpr of an iteration."""
    for number, one in enumerate(equations):
        if one.primitive.name in LOOPS:
            yield number, one.params[LOOPS[one.primitive.name]].jaxpr


def is_out_of_loop(levels: Sequence[Level], origin: Origin, loops: Sequence[tuple[tuple[str, int], Places]]) -> bool:
    """Whether frames belong to a loop's body: they begin in its function, or in JAX 0.8 with the frames of the loop.

    Args:
      levels: the frames.
      origin: the function that the equation is in now.
      loops: for each loop of the body, file and first line of the function that it runs, and the frames of the loop.
    """
    through = [(level.file, level.code_line) for level in levels]
    if origin[:2] not in through:
        return any(function in through for function, _ in loops)
    places = places_of(levels)
    return any(places[: len(around)] == around and function in through[len(around) :][:1] for function, around in loops)
