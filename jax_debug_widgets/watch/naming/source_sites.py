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
"""File, range and, from there on inward, the lines of JAX's."""


Origin = tuple[str, int, str]
"""File, first line and name of a function, as its code object has them; empty and 0 where JAX does not say."""


@dataclass(frozen=True)
class SourceSite:
    """One place in the source, as reached by one way: the frames around it tell calls of a function apart."""

    outer: Outer
    file: str
    span: Span

    @property
    def depth(self) -> int:
        """How many frames are around the place."""
        return len(self.outer)


def outer_of(levels: Iterable[Level]) -> Outer:
    """The frames around a call, as `SourceSite` has them."""
    return tuple((level.file, level.span, level.through) for level in levels)


def places_of(levels: Iterable[Level]) -> Places:
    """File and range of each frame."""
    return tuple((level.file, level.span) for level in levels)


def origin_of(jaxpr: Any) -> Origin:
    """The function that a jaxpr is the program of."""
    about = jaxpr.debug_info
    return about.func_filename or "", about.func_lineno or 0, about.func_name or ""
