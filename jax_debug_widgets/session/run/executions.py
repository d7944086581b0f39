"""Number each site's executions by the calls of its programs, where counting the site's firings cannot give the number."""

from __future__ import annotations

import bisect
from array import array
from collections import Counter
from collections.abc import Sequence

import numpy as np

from jax_debug_widgets.events import FiringBatch, ProgramTaps, Tap

_MOST_CALLS = 10_000
"""The most calls of each program that are remembered one by one. More calls are not in flight at once."""


class Executions:
    """Numbers executions where firings may be left out. Outside loops, a call has one execution of each of its taps."""

    def __init__(self) -> None:
        self._programs: dict[int, _Program] = {}
        """`id` of a program's sequence of taps -> the program. Comparing hundreds of taps at each call would be slow."""
        self._of_site: dict[int, list[_Program]] = {}
        self._place: dict[Tap, int] = {}
        """Tap -> its number among its site's taps in its version of the program. A line in a Python loop has several taps."""

    def dispatching(self, call: int, taps: Sequence[Tap]) -> None:
        """Note a call of the program that has these taps."""
        program = self._programs.get(id(taps))
        if program is None:
            program = self._programs[id(taps)] = _Program(taps)
            seen: Counter[tuple[int, str]] = Counter()
            for tap in (*taps, *(taps.left_out if isinstance(taps, ProgramTaps) else ())):
                own = tap.site.id, tap.nesting.version
                self._place[tap] = seen[own]
                seen[own] += 1
                program.times[tap.site.id] = max(program.times.get(tap.site.id, 0), seen[own])
            for site_id in program.times:
                self._of_site.setdefault(site_id, []).append(program)
        program.calls.note(call)

    def of(self, batch: FiringBatch, calls: np.ndarray) -> np.ndarray:
        """Return the number of the execution of each firing, int64[n].

        It is -1 if the call is not known, and if counting the firings gives the same number.

        Args:
          batch: the firings.
          calls: int64[n], the id of the call of each firing.
        """
        executions = np.full(len(batch), -1)
        for number, tap in enumerate(batch.taps):
            if tap.nesting.may_be_left_out and tap in self._place:
                mine = batch.firings_of(number)
                executions[mine] = self._of_tap(tap, calls[mine])
        return executions

    def _of_tap(self, tap: Tap, calls: np.ndarray) -> np.ndarray:
        site_id = tap.site.id
        before = sum(program.calls.before(calls) * program.times[site_id] for program in self._of_site[site_id])
        return np.where(calls < 0, -1, before + self._place[tap])


class _Program:
    """A program that was called.

    Attributes:
      taps: its taps.
      times: site id -> the number of its taps for this site.
      calls: its calls.
    """

    def __init__(self, taps: Sequence[Tap]) -> None:
        self.taps, self.calls = taps, _Calls()
        self.times: dict[int, int] = {}


class _Calls:
    """Holds the ids of the newest calls, and the number of older ones."""

    def __init__(self) -> None:
        self._newest, self._older = array("q"), 0

    def note(self, call: int) -> None:
        """Add a call. With several threads, a call that began later may be dispatched before."""
        bisect.insort(self._newest, call)
        if len(self._newest) > 2 * _MOST_CALLS:
            del self._newest[:_MOST_CALLS]
            self._older += _MOST_CALLS

    def before(self, calls: np.ndarray) -> np.ndarray:
        """Return how many of the calls began before each of these, int64[n]."""
        return self._older + np.searchsorted(np.array(self._newest, np.int64), calls)
