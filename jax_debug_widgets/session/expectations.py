"""Compare how often each call site fired with what its program says, and say why where they differ."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets.events import Finding, Tap

if TYPE_CHECKING:
    from jax_debug_widgets.session.record import Record


@dataclass
class _Tally:
    expected: int = 0
    seen: int = 0
    calls: int = 0


class Expectations:
    """The calls of one run in which something fired less often than its program says."""

    def __init__(self) -> None:
        self._short: dict[Tap, _Tally] = {}

    def compare(self, records: Iterable[Record]) -> None:
        """Take in calls that have drained."""
        for record in records:
            for tap in record.taps:
                expected, seen = _expected(tap), record.fired[tap]
                if seen < expected:
                    tally = self._short.setdefault(tap, _Tally())
                    tally.expected, tally.seen, tally.calls = (
                        tally.expected + expected,
                        tally.seen + seen,
                        tally.calls + 1,
                    )
            record.fired.clear()

    def findings(self) -> list[Finding]:
        """What to tell about them, one a call site."""
        return [_finding(tap, tally) for tap, tally in list(self._short.items())]


def _expected(tap: Tap) -> int:
    """Firings of one call, on all devices; of the condition of a `while` one at least."""
    nesting = tap.nesting
    if nesting.in_condition and not nesting.conditional and len(nesting.loops) == 1:
        return 1
    devices = math.prod(np.shape(nesting.devices)) if nesting.devices is not None else 1
    return (nesting.expected or 0) * devices


def _finding(tap: Tap, tally: _Tally) -> Finding:
    site, nesting = tap.site, tap.nesting
    place = f"{site.where} ({site.label})"
    if nesting.in_condition:
        kind = "lost"
        message = (
            f"{place}: fired 0 times. XLA knows how often this `while` runs and has dropped its condition, and with it "
            "what is unordered there: write ordered=True, or move the call into the body."
        )
    elif nesting.steady:
        kind = "hoisted"
        message = (
            f"{place}: expected {tally.expected}, saw {tally.seen}. Its values are the same in every iteration, so XLA has "
            "moved it out of the loop: pass a value that changes as well, such as the step."
        )
    else:
        kind = "missing"
        message = f"{place}: expected {tally.expected}, saw {tally.seen}. XLA has dropped or merged what did not fire."
    return Finding(kind, site, tally.expected, tally.seen, tally.calls, message)
