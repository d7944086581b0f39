"""Add the frames of comprehensions around a frame, which Python before 3.12 has."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

from jax_debug_widgets._jax.origins.frames import INLINED, Level
from jax_debug_widgets.watch.syntax.source import SourceFile
from jax_debug_widgets.watch.syntax.statements import Span


def as_written(level: Level, source: SourceFile) -> Iterator[Level]:
    """Yield the frames of the comprehensions around a frame, then the frame: since Python 3.12 comprehensions have none.

    The range of an unpacking is replaced by the range of the expression that it unpacks.
    """
    if sys.version_info >= (3, 12):
        function = source.function_at(level.code_line, level.function)
        for around, first in source.comprehensions.get(function, ()):
            if around.contains(Span(*level.span)) and not first.contains(Span(*level.span)):
                yield replace(level, span=tuple(around), differentiates="", derivatives=0, maps=False, through=0)
                level = replace(level, function=f"{level.function}{INLINED}", code_line=around.line)
    apart = source.taken_apart.get(Span(*level.span))
    yield replace(level, span=tuple(apart)) if apart else level
