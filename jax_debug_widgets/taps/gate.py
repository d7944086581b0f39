"""Where a running program can be held or ended: each of its events passes here, at the price of reading one attribute."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from jax_debug_widgets.events import Bundle, Tap, joined

if TYPE_CHECKING:
    from collections.abc import Mapping

Firings = Sequence[tuple[Tap, tuple[np.ndarray, ...]]]
"""Taps, each with what it hands over."""


class Pass(Protocol):
    """May block, and may raise to end the program."""

    def __call__(self, fired: Tap | Bundle, arrays: tuple[np.ndarray, ...], shown: Firings | None = None, /) -> None:
        """Called with the tap that fires, or several together, and what it hands over.

        Args:
          shown: the same firings with more values, where there are such.
        """
        ...


class Gate:
    """Open unless somebody wants to look at each firing.

    Of taps that fire once a device it is counted how often each device has passed, always: all devices can be ended at the
    same place of their program only if it is known how far each has come.

    Attributes:
      closed: whether firings must ask `may_pass`; see `close`.
      word: uint64[1], the same for who reads it without Python.
      when_closed: called when it is no longer open.
      may_pass: returns when the program may go on.
    """

    __slots__ = ("_counting", "_passed", "_reached", "closed", "may_pass", "when_closed", "word")

    def __init__(self) -> None:
        self.closed = False
        self.word = np.zeros(1, np.uint64)
        self.may_pass: Pass = lambda _fired, _arrays, _shown=None: None
        self.when_closed: Callable[[], None] = lambda: None
        self._passed: dict[Tap | Bundle, list[np.ndarray]] = {}
        """Coordinates of what has passed and has not been counted, one array an axis."""
        self._reached: dict[Tap | Bundle, Counter[tuple[int, ...]]] = {}
        self._counting = threading.Lock()

    def close(self, is_wanted: bool) -> None:
        """Close it, or open it."""
        was_open, self.closed = not self.closed, is_wanted
        self.word[0] = is_wanted
        if is_wanted and was_open:
            self.when_closed()

    def passage(self, tap: Tap | Bundle) -> Callable[[Iterable[np.ndarray]], None]:
        """The function that a firing of this tap calls with its mesh coordinates, before it asks `may_pass`."""
        return self._passed.setdefault(tap, []).extend if tap.nesting.axes else _nowhere

    def reached(self, tap: Tap | Bundle) -> Mapping[tuple[int, ...], int]:
        """How often the device at each coordinate has passed with this tap."""
        with self._counting:
            self._count(tap)
            return self._reached[tap].copy()

    def count(self) -> None:
        """Count what has passed: it takes memory until then."""
        with self._counting:
            for tap, passed in list(self._passed.items()):
                if passed:
                    self._count(tap)

    def _count(self, tap: Tap | Bundle) -> None:
        passed, axes = self._passed[tap], len(tap.nesting.axes)
        taken = passed[:]
        del passed[: len(taken)]
        reached = self._reached.setdefault(tap, Counter())
        if taken:
            found, counts = np.unique(joined(taken).reshape(-1, axes), axis=0, return_counts=True)
            reached.update(dict(zip(map(tuple, found.tolist()), counts.tolist(), strict=True)))


def _nowhere(_coordinates: Iterable[np.ndarray]) -> None:
    """Without a mesh nothing is counted."""
