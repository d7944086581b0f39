"""Find the line that header, overview, findings and saved output show for a run's first NaN: where a check saw it arise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from jax_debug_widgets.events import Finding, FirstNonFinite
from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.session.run.nonfinite import (
    OddSite,
    derivatives_of,
    is_masked,
    is_one,
    nonfinite_findings,
    sites_of,
    when,
)
from jax_debug_widgets.session.run.ports import Counted, Values
from jax_debug_widgets.taps.check_log import LineHits


def birth(found: Sequence[Finding], run: Values, notes: Sequence[str]) -> Finding | None:
    """Return the first NaN or infinity that `--check nonfinite` saw arise; None if a value may have been so before.

    That is possible if the check did not cover all programs, or if an event of an earlier call was not finite.
    """
    if any("not checked (" in note and "nonfinite" in note for note in notes):
        return None
    first = next((one for one in found if _is_birth(one)), None)
    return first if first is None or first.event >= 0 or not run.store.nonfinite() else None


def event_after(run: Values, program_of: Callable[[int], tuple[str, Any]], hits: LineHits) -> int:
    """Return the position of the run's first event that is not finite, if no such event came before the call of a check's hit.

    It is -1 if there is no such event, and if one may belong to an earlier call or to no call.

    Args:
      run: the run.
      program_of: the method of `CallLog`.
      hits: the hits of the check at one line.
    """
    firsts = [found.first for found in run.store.nonfinite().values()]
    if not firsts:
        return -1
    events = (next(iter(run.store.range(first, first + 1)), None) for first in firsts)
    earliest = min(-1 if event is None else event.call for event in events)
    # JAX may have dispatched the call before its record was made. Then `newest` is the call before it.
    is_later = earliest > hits.newest or (earliest == hits.newest and _is_of(earliest, program_of, hits))
    return min(firsts) if earliest >= 0 and is_later else -1


def _is_of(call: int, program_of: Callable[[int], tuple[str, Any]], hits: LineHits) -> bool:
    try:
        return program_of(call)[0] in {frame.function for frame in hits.checked.frames}
    except LookupError:
        return False


def _is_birth(finding: Finding) -> bool:
    return finding.kind == "nonfinite" and finding.site is None


def joined(found: Sequence[Finding], run: Counted, notes: Sequence[str]) -> list[Finding]:
    """Join findings with those of values that are not finite, which follow from the NaN that a check saw arise."""
    named = {(one.file, one.span[0]) for one in found if one.kind == "nonfinite"}
    born, seen = birth(found, run, notes), nonfinite_findings(run)
    follows = partial(_is_of_a_program, run) if born is not None else lambda _: False
    alone = [_without(one, follows) for one in seen if not follows(one) and (one.file, one.span[0]) not in named]
    each = [part for one in seen for part in (replace(one, followed_by=()), *one.followed_by)]
    following = [one for one in each if follows(one) and (one.file, one.span[0]) not in named]
    return [*(_with(one, following if one is born else ()) if _is_birth(one) else one for one in found), *alone]


def _without(one: Finding, follows: Callable[[Finding], bool]) -> Finding:
    return replace(one, followed_by=tuple(other for other in one.followed_by if not follows(other)))


def _is_of_a_program(run: Counted, finding: Finding) -> bool:
    """Whether a compiled program has computed the value, and no `where` may leave it out. Then a check saw where it began."""
    if finding.site is None or finding.site.choice:
        return False
    event = next(iter(run.store.range(finding.event, finding.event + 1)), None)
    return event is not None and event.call >= 0


def _with(born: Finding, following: Sequence[Finding]) -> Finding:
    if not following:
        return replace(born, event=-1)
    follow = f" {plural(len(following), 'value')} had one later."
    return replace(born, message=born.message + follow, event=following[0].event, followed_by=tuple(following))


def first_event(run: Counted, born: Finding | None) -> FirstNonFinite | None:
    """Return the event with the run's first NaN or infinity, and its line: the line of `born` if a check saw it arise."""
    firsts = {number: found.first for number, found in run.store.nonfinite().items()}
    if not firsts:
        return None
    known = _KNOWN.get(run.store)
    if known is None or known[0] != firsts:
        sites = sites_of(run)
        known = _KNOWN[run.store] = firsts, _event_of(sites[0], masked=is_masked(run, sites[0], sites))
    first = known[1]
    return first if born is None else replace(first, where=born.where, file=born.file, line=born.span[0], masked=False)


def _event_of(one: OddSite, *, masked: bool) -> FirstNonFinite:
    at = next(iter(_guilty(one)), one.site)
    return FirstNonFinite(one.site.id, one.found.first, one.has_nan, masked, one.lane, at.where, at.file, at.line)


def _guilty(one: OddSite) -> Iterator[Any]:
    """Yield the derivative that computes a NaN, if it is known which one does."""
    derivatives = derivatives_of(one.site)
    if derivatives and is_one(derivatives):
        yield derivatives[0]


_KNOWN: WeakKeyDictionary[Any, tuple[dict[int, int], FirstNonFinite]] = WeakKeyDictionary()
"""Store -> the events among which the first one was chosen, and the first one. A status is made many times a second."""


def first_nonfinite_text(run: Counted, born: Finding | None) -> str:
    """Describe the place, call and step of the run's first NaN or infinity; empty if all values were finite."""
    if born is not None:
        return f"{born.where}  {born.headline}"
    for one in (sites := sites_of(run))[:1]:
        site, calls = one.site, run.call_log.newest + 1
        masked = f", which {site.choice} may mask" if is_masked(run, one, sites) else ""
        where, cause = site.where, ""
        if derivatives := derivatives_of(site):
            where = next((each.where for each in _guilty(one)), where)
            later = "" if is_one(derivatives) else " or of what comes after it"
            cause = f", by the derivative of `{derivatives[0].text}`{later}"
        return f"{where}  {site.label}{cause}{when(one.first, one.lane, calls=calls)}{masked}"
    return ""
