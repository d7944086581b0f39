"""Names and lines added in the Code view: the next run watches the names too, if it watches at all, and stops at the lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax_debug_widgets.session.options import Options


class AddedNames:
    """The names that somebody has added to the watch, in the order of adding; the kernel remembers it until it is taken back.

    What is watched is compiled into a program, so a run that goes on stays as it is.

    Attributes:
      lines: where the next run stops, `train.py:41`.
    """

    def __init__(self) -> None:
        self._patterns: dict[str, None] = {}
        self.lines: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[str]:
        return iter(self._patterns)

    def add(self, pattern: str) -> None:
        """Watch it from the next run on."""
        self._patterns = {**self._patterns, pattern: None}

    def discard(self, name: str) -> None:
        """Watch a pattern, or a name wherever it was added, no longer from the next run on."""
        self._patterns = {one: None for one in self._patterns if name not in (one, bare(one))}

    def stop_at(self, line: str, *, on: bool) -> None:
        """Stop there from the next run on, or no longer."""
        self.lines = tuple(one for one in self.lines if one != line) + (line,) * on

    def beside(self, options: Options) -> Options:
        """The options of a run that begins now."""
        options = options.stopping_at(self.lines)
        return replace(options, watch=options.watch.beside(self)) if options.watch and self._patterns else options


def bare(pattern: str) -> str:
    """The name in it, without the file that it is watched in."""
    return pattern.partition("@")[0]
