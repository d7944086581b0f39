"""Hold or end a running program: each firing passes a `Gate`, and an open gate costs one read of an attribute."""

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
"""Taps, each with the arrays that it hands over."""


class Pass(Protocol):
    """Decides about a firing at a closed gate: it may block, and may raise to end the program."""

    def __call__(self, fired: Tap | Bundle, arrays: tuple[np.ndarray, ...], shown: Firings | None = None, /) -> None:
        """Return when the program may go on.

        Args:
          fired: the tap that fires, or the taps that fire together.
          arrays: the arrays that `fired` hands over.
          shown: the same firings with the whole values of some taps; None where the program hands over none.
        """
        ...


class Gate:
    """Lets each firing pass while it is open; asks `may_pass` about each firing while it is closed.

    For taps that fire once a device, the gate always counts how often each device has passed. All devices can be ended at
    the same place of their program only if it is known how far each device has come.

    Attributes:
      closed: whether firings must ask `may_pass`; see `close`.
      word: uint64[1], the same as `closed` for machine code, which reads it without Python.
      when_closed: called when an open gate is closed.
      may_pass: returns when the program may go on.
    """

    __slots__ = ("_counting", "_passed", "_reached", "closed", "may_pass", "when_closed", "word")

    def __init__(self) -> None:
        self.closed = False
        self.word = np.zeros(1, np.uint64)
        self.may_pass: Pass = lambda _fired, _arrays, _shown=None: None
        self.when_closed: Callable[[], None] = lambda: None
        self._passed: dict[Tap | Bundle, list[np.ndarray]] = {}
        """Mesh coordinates of the firings that have passed and are not counted yet: one array for each axis of a firing."""
        self._reached: dict[Tap | Bundle, Counter[tuple[int, ...]]] = {}
        self._counting = threading.Lock()

    def close(self, is_wanted: bool) -> None:
        """Close the gate if `is_wanted`; otherwise open it."""
        was_open, self.closed = not self.closed, is_wanted
        self.word[0] = is_wanted
        if is_wanted and was_open:
            self.when_closed()

    def passage(self, tap: Tap | Bundle) -> Callable[[Iterable[np.ndarray]], None]:
        """Return the function that each firing of this tap calls with its mesh coordinates, before it asks `may_pass`."""
        return self._passed.setdefault(tap, []).extend if tap.nesting.axes else _nowhere

    def reached(self, tap: Tap | Bundle) -> Mapping[tuple[int, ...], int]:
        """Return how often each device, given by its mesh coordinates, has passed with this tap."""
        with self._counting:
            self._count(tap)
            return self._reached[tap].copy()

    def count(self) -> None:
        """Count the firings that have passed since the last count. Their coordinates take memory until then."""
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
    """Count nothing: there is no mesh."""
