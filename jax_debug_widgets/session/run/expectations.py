"""Compare how often each site fired with the number by its program's text, and explain the difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jax_debug_widgets.events import Finding, Tap
from jax_debug_widgets.store import Store

if TYPE_CHECKING:
    from jax_debug_widgets._jax.compat.processes import ProcessShare
    from jax_debug_widgets.session.run.record import CallRecord


@dataclass
class _Tally:
    """How often a tap should have fired in some calls, and how often it has.

    `awaited` are the calls that were in flight with the last of them. Missing firings may have been attributed to these.
    """

    expected: int = 0
    seen: int = 0
    calls: int = 0
    awaited: Sequence[CallRecord] = ()


class Expectations:
    """Finds the calls of one run in which a tap fired less often than its program's text says."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._short: dict[Tap, _Tally] = {}
        self._known_firings: dict[tuple[tuple[Tap, ...], ProcessShare | None], dict[Tap, int | None]] = {}
        self._ahead: Counter[Tap] = Counter()
        """Tap -> surplus firings. With several calls in flight, firings of the next call may be attributed to the oldest."""
        self._awaited: set[int] = set()
        """The calls that a tally awaits, and that were not compared yet."""

    def compare(self, records: Iterable[CallRecord], pending: Sequence[CallRecord] = ()) -> None:
        """Compare calls that have drained. `pending` are the calls that had not drained a moment before."""
        records = [*records]
        taken = {record.id for record in records}
        self._awaited -= taken
        others = [record for record in pending if record.id not in taken]
        for record in records:
            if (
                self._short
                or any(self._ahead.values())
                or record.fired != self._expected_firings(tuple(record.taps), record.share)
            ):
                self._compare(record, others)
            record.fired.clear()

    def _expected_firings(self, program: tuple[Tap, ...], share: ProcessShare | None) -> dict[Tap, int | None]:
        """Return how often each tap of a program fires in a call by the program's text; None if the text does not say it."""
        if (program, share) not in self._known_firings:
            self._known_firings[program, share] = {tap: tap.nesting.firings_in(share) for tap in program}
        return self._known_firings[program, share]

    def _compare(self, record: CallRecord, others: Sequence[CallRecord]) -> None:
        for tap in (one for one in record.taps if one.site.watch is None):
            expected, seen = _expected(tap, record.share), record.fired[tap]
            if tap.nesting.firings_in(record.share) is not None:
                seen += self._from_others(tap, seen - expected)
            if seen < expected and not self._store.is_doubtful(tap.site.id, record.id):
                tally = self._short.setdefault(tap, _Tally())
                tally.expected, tally.seen, tally.calls = tally.expected + expected, tally.seen + seen, tally.calls + 1
                tally.awaited = others
                self._awaited.update(one.id for one in others)

    def _from_others(self, tap: Tap, ahead: int) -> int:
        """Balance the firings of one call with surplus and missing firings of other calls.

        Args:
          tap: the tap that fired.
          ahead: the surplus firings of the call; negative if firings are missing.

        Returns:
          The number of missing firings that earlier calls had as a surplus.
        """
        self._ahead[tap] += max(ahead, 0)
        given = min(max(-ahead, 0), self._ahead[tap])
        self._ahead[tap] -= given
        if (tally := self._short.get(tap)) is not None:
            late = min(self._ahead[tap], tally.expected - tally.seen)
            self._ahead[tap] -= late
            tally.seen += late
            if tally.seen == tally.expected:
                del self._short[tap]
        return given

    def findings(self) -> list[Finding]:
        """Return a finding for each site with missing firings; none while a pending call may turn out to have them."""
        return [_finding(tap, tally) for tap, tally in list(self._short.items()) if not self._is_open(tally)]

    def _is_open(self, tally: _Tally) -> bool:
        return any(record.id in self._awaited and not record.error for record in tally.awaited)


def phantoms_in(store: Store) -> list[Finding]:
    """Return the findings about sites with phantoms, the events that only a `vmap` caused."""
    counts, seen, taps = store.phantoms_by_site(), store.seen_by_site(), store.latest_taps()
    names = Counter((tap.site.where, tap.site.label) for number, tap in taps.items() if counts.get(number))
    return [
        _phantoms(tap, seen[number], count, is_alone=names[tap.site.where, tap.site.label] == 1)
        for number, count in counts.items()
        if count and (tap := taps[number])
    ]


_WHY_PHANTOM = {
    "cond": "turned the cond around it into a select, which runs every branch for every lane",
    "while": "runs the while loop around it until the last lane has finished",
    "condition": "evaluates the condition of a while loop twice an iteration, until its last lane has finished",
}


def _phantoms(tap: Tap, seen: int, count: int, *, is_alone: bool) -> Finding:
    """Make the finding about the phantoms of one site. If its line has several sites of this name, add its format."""
    site = tap.site
    name = site.label if is_alone or not site.format else f"{site.label}, {site.format!r}"
    why = " and ".join(_WHY_PHANTOM[cause] for cause in dict.fromkeys(tap.guards))
    fired = (
        f"{count} of {seen} are phantoms, which would not have fired without vmap: vmap {why}. They are marked, and "
        "left out of series."
    )
    message = f"{site.where} ({name}): {fired}"
    return Finding("phantom", site, seen - count, seen, 0, message)


def _expected(tap: Tap, share: ProcessShare | None) -> int:
    """Return the firings of one call on all devices of this process; for the condition of a `while`, at least one."""
    nesting = tap.nesting
    if share is not None and nesting.fires_once and not share.is_reporter:
        return 0
    if nesting.in_condition and not nesting.conditional and all(nesting.loops[:-1]):
        return 1 if nesting.one_of == 1 else 0
    return nesting.firings_in(share) or 0


def _finding(tap: Tap, tally: _Tally) -> Finding:
    site, nesting = tap.site, tap.nesting
    place = f"{site.where} ({site.label})"
    if nesting.in_condition:
        kind = "lost"
        message = (
            f"{place}: fired 0 times. XLA knows how often this `while` runs. It has removed the condition, and with it "
            "the unordered calls in it: write ordered=True, or move the call into the body."
        )
    elif nesting.hoisted:
        kind = "hoisted"
        message = (
            f"{place}: expected {tally.expected}, saw {tally.seen}. Its values are the same in every iteration, so JAX has "
            "moved it out of the loop when it differentiated it: pass a value that changes as well, such as the step."
        )
    elif nesting.steady:
        kind = "hoisted"
        message = (
            f"{place}: expected {tally.expected}, saw {tally.seen}. Its values are the same in every iteration, so XLA has "
            "moved it out of the loop: pass a value that changes as well, such as the step."
        )
    else:
        kind = "missing"
        message = (
            f"{place}: expected {tally.expected}, saw {tally.seen}. XLA has removed or merged the calls that did "
            "not fire."
        )
    return Finding(kind, site, tally.expected, tally.seen, tally.calls, message)
