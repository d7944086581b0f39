"""Number each site's executions where counting firings cannot tell, by the calls of the programs that have the site."""

from __future__ import annotations

import bisect
from array import array
from collections import Counter
from collections.abc import Sequence

import numpy as np

from jax_debug_widgets.events import FiringBatch, Tap

_MOST_CALLS = 10_000
"""The most calls of each program whose executions are told apart: more are not in flight."""


class Executions:
    """What counting the firings does not tell where some are left out: outside loops a call has one of each of its taps."""

    def __init__(self) -> None:
        self._programs: dict[int, _Program] = {}
        """By the identity of its taps, which it keeps: to compare hundreds of them at each call would be felt."""
        self._of_site: dict[int, list[_Program]] = {}
        self._place: dict[Tap, int] = {}
        """The number of each tap among those of its site in its version of the program: a line in a Python loop has several."""

    def dispatching(self, call: int, taps: Sequence[Tap]) -> None:
        """A call of the program that has these taps."""
        program = self._programs.get(id(taps))
        if program is None:
            program = self._programs[id(taps)] = _Program(taps)
            seen: Counter[tuple[int, str]] = Counter()
            for tap in taps:
                own = tap.site.id, tap.nesting.version
                self._place[tap] = seen[own]
                seen[own] += 1
                program.times[tap.site.id] = max(program.times.get(tap.site.id, 0), seen[own])
            for site_id in program.times:
                self._of_site.setdefault(site_id, []).append(program)
        program.calls.note(call)

    def of(self, batch: FiringBatch, calls: np.ndarray) -> np.ndarray:
        """For each firing int64; -1 where its call is not known, and where counting the firings tells as much.

        Args:
          batch: what has fired.
          calls: int64[n], the call of each.
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
      taps: what it has.
      times: site id -> how many of them are of that site.
      calls: which calls were of it.
    """

    def __init__(self, taps: Sequence[Tap]) -> None:
        self.taps, self.calls = taps, _Calls()
        self.times: dict[int, int] = {}


class _Calls:
    """The ids of calls, the newest of them; of older ones the number."""

    def __init__(self) -> None:
        self._newest, self._older = array("q"), 0

    def note(self, call: int) -> None:
        """It is one of them. Of several threads those that began later may be dispatched before."""
        bisect.insort(self._newest, call)
        if len(self._newest) > 2 * _MOST_CALLS:
            del self._newest[:_MOST_CALLS]
            self._older += _MOST_CALLS

    def before(self, calls: np.ndarray) -> np.ndarray:
        """How many of them began before each of these, int64[n]."""
        return self._older + np.searchsorted(np.array(self._newest, np.int64), calls)
