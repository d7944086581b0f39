"""Keep the names and lines that the user added in the Code view, for the next run.

If the next run watches values, it watches these names too. It stops at these lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax_debug_widgets.session.options import Options


class AddedNames:
    """Holds the names that the user added to the watch, in the order of adding, until the user removes them.

    Watched values are compiled into a program. So adding a name does not change a run that goes on.

    Attributes:
      lines: the lines at which the next run stops, `train.py:41`.
    """

    def __init__(self) -> None:
        self._patterns: dict[str, None] = {}
        self.lines: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[str]:
        return iter(self._patterns)

    def add(self, pattern: str) -> None:
        """Watch a name pattern from the next run on."""
        self._patterns = {**self._patterns, pattern: None}

    def discard(self, name: str) -> None:
        """Stop watching a pattern, or a name in all files where it was added, from the next run on."""
        self._patterns = {one: None for one in self._patterns if name not in (one, bare(one))}

    def stop_at(self, line: str, *, on: bool) -> None:
        """Stop the program at a line from the next run on; with `on=False`, do so no longer."""
        self.lines = tuple(one for one in self.lines if one != line) + (line,) * on

    def beside(self, options: Options) -> Options:
        """Return the options of a run that begins now: `options` with the added names and lines."""
        options = options.stopping_at(self.lines)
        return replace(options, watch=options.watch.beside(self)) if options.watch and self._patterns else options


def bare(pattern: str) -> str:
    """Return the name in a pattern, without the file that limits it (`loss` for `loss@train.py`)."""
    return pattern.partition("@")[0]
