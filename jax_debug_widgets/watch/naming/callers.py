"""Find the user's frames around a value: the calls that lead to the function that computes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jax_debug_widgets.events import Caller
from jax_debug_widgets.watch.naming.body import BodyWithFrames
from jax_debug_widgets.watch.naming.source_sites import outer_of
from jax_debug_widgets.watch.syntax.statements import Span

if TYPE_CHECKING:
    from jax_debug_widgets.watch.naming.named import Named


def callers_of(body: BodyWithFrames, one: Named) -> tuple[Caller, ...] | None:
    """Return the frames around that of a value, innermost first, as far as they are in its program; None if unknown."""
    levels = body.levels[one.equation] if one.equation >= 0 else ()
    depth = len(one.outer) or _depth_of(body, one)
    if depth is None or (one.outer and outer_of(levels[:depth]) != one.outer):
        return None
    inside = [Caller(level.file, *level.span, level.function) for level in reversed(levels[:depth])]
    outside = (
        Caller(at.file, at.line, at.column, at.end_line, at.end_column, at.function) for at in body.place.callers
    )
    return (*inside, *outside)


def _depth_of(body: BodyWithFrames, one: Named) -> int | None:
    """Return how many frames of its body are around a value whose frames are unknown."""
    levels = body.levels[one.equation] if one.equation >= 0 else ()
    at = next((i for i, level in enumerate(levels) if (level.file, Span(*level.span)) == (one.file, one.span)), None)
    if at is not None:
        return at
    own = body.function
    return 0 if own is not None and own.name == one.function else None
