"""Identify places in the source, distinguished by the frames around them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from jax_debug_widgets._jax.origins.frames import (
    Level,
)
from jax_debug_widgets.watch.syntax.statements import Span

Places = tuple[tuple[str, tuple[int, int, int, int]], ...]


Outer = tuple[tuple[str, tuple[int, int, int, int], int], ...]
"""For each outer frame its file, its range, and a hash of JAX's own lines from there on inward."""


Origin = tuple[str, int, str]
"""File, first line and name of a function, as its code object has them; empty and 0 if JAX does not report it."""


@dataclass(frozen=True)
class SourceSite:
    """One place in the source, as reached by one way: the frames around it distinguish calls of a function."""

    outer: Outer
    file: str
    span: Span

    @property
    def depth(self) -> int:
        """Return how many frames are around the place."""
        return len(self.outer)


def outer_of(levels: Iterable[Level]) -> Outer:
    """Return the frames around a call, as `SourceSite` has them."""
    return tuple((level.file, level.span, level.through) for level in levels)


def places_of(levels: Iterable[Level]) -> Places:
    """Return file and range of each frame."""
    return tuple((level.file, level.span) for level in levels)


def origin_of(jaxpr: Any) -> Origin:
    """Return the function that a jaxpr was traced from."""
    about = jaxpr.debug_info
    return about.func_filename or "", about.func_lineno or 0, about.func_name or ""
