"""Find out which of two values the program computes first, because their events may arrive in another order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import reduce

from jax_debug_widgets.events import CallSite, Event
from jax_debug_widgets.watch import body_of, position_of

_PASSES = ("forward", "recompute", "backward")


class ProgramOrder:
    """Compares the values of a run within one step of one call."""

    def __init__(self, sites: Iterable[CallSite], name_file: Callable[[str], str]) -> None:
        self._name_file = name_file
        self._written = Counter(_written(site) for site in sites if site.watch)

    def is_before(self, one: Event, other: Event) -> bool:
        """Whether the program computes the value of `one` before that of `other`; False if it is not known."""
        if not _are_of_one_step(one, other):
            return False
        watched = one.site.watch is not None and other.site.watch is not None
        if watched and body_of(one.site) == body_of(other.site):
            return one.step == other.step and position_of(one.site) < position_of(other.site)
        own, its = _pass_of(one.site), _pass_of(other.site)
        if own == its:
            return own == 0 and self._is_written_before(one, other)
        earlier, later = sorted((one, other), key=lambda event: _pass_of(event.site))
        if _differentiates(earlier.site.name_stack, later.site.name_stack):
            return one is earlier
        return self._is_called_before(one, other, within=later)

    def _is_written_before(self, one: Event, other: Event) -> bool:
        """Whether the line of `one` comes first. Two watched values are only compared by an outer line that does not repeat."""
        own, its = self._path(one), self._path(other)
        at = _parting(own, its)
        if one.site.watch and other.site.watch:
            outer, ways = (one, own) if len(own) < len(its) else (other, its)
            return (
                at == len(ways) - 1 and len(own) != len(its) and not self._is_repeated(outer) and _is_less(own, its, at)
            )
        if at < min(len(own), len(its)):
            return _is_less(own, its, at)
        if len(own) != len(its):  # Values inside a call come before its result.
            return len(own) > len(its)
        if one.site.watch or other.site.watch:
            return one.site.watch is not None
        return 0 <= one.site.order < other.site.order

    def _is_called_before(self, one: Event, other: Event, *, within: Event) -> bool:
        """Whether the line of `one` comes before that of `other`, if one of them is in a call that `within` is in."""
        own, its = self._path(one), self._path(other)
        at = _parting(own, its)
        is_called = at < min(len(own), len(its)) and at < len(self._path(within)) - 1
        return is_called and not (self._is_repeated(one) or self._is_repeated(other)) and _is_less(own, its, at)

    def _is_repeated(self, event: Event) -> bool:
        """Whether an event's line is several times in one body, as in a Python loop."""
        return self._written[_written(event.site)] > 1

    def _path(self, event: Event) -> list[str]:
        """Return the lines that lead to an event, outermost first, and its own line: `train.py:41`."""
        callers = event.tap.callers
        places = (
            event.site.callers if callers is None else [f"{self._name_file(one.file)}:{one.line}" for one in callers]
        )
        return [*reversed(places), event.site.where]


def first_computed(sites: Iterable[CallSite]) -> CallSite:
    """Return the site whose value the program probably computes first within a step: else the earliest one in the source."""
    return reduce(lambda one, other: other if _is_computed_before(other, one) else one, sites)


def _is_computed_before(one: CallSite, other: CallSite) -> bool:
    if one.watch and other.watch and one.file == other.file and body_of(one) == body_of(other):
        return position_of(one) < position_of(other)
    earlier, later = sorted((one, other), key=_pass_of)
    if _pass_of(earlier) != _pass_of(later) and _differentiates(earlier.name_stack, later.name_stack):
        return one is earlier
    return (one.file, one.line, _pass_of(one)) < (other.file, other.line, _pass_of(other))


def _are_of_one_step(one: Event, other: Event) -> bool:
    """Whether two events are in the same step of the same call, or one is in a loop inside that step."""
    if one.site.process != other.site.process or one.call != other.call:
        return False
    if one.call < 0 and (one.site.file, one.site.function) != (other.site.file, other.site.function):
        return False
    return all(own == its for own, its in zip(one.step, other.step, strict=False))


def _pass_of(site: CallSite) -> int:
    is_gradient = site.watch is not None and site.watch.role == "gradient"
    return _PASSES.index("backward" if is_gradient else site.phase)


def _differentiates(earlier: str, later: str) -> bool:
    """Whether `earlier` is the name stack of the forward pass for the backward pass `later`: `jvp()`, `transpose(jvp())`."""
    at = next((at for at, (own, its) in enumerate(zip(earlier, later, strict=False)) if own != its), 0)
    return earlier[at:].startswith("jvp(") and later[at:].startswith("transpose(")


def _written(site: CallSite) -> tuple[object, ...]:
    return site.process, body_of(site), site.file, site.line, site.column, site.label


def _parting(own: list[str], its: list[str]) -> int:
    """Return the index at which two paths differ; the length of the shorter one if they do not."""
    pairs = zip(own, its, strict=False)
    return next((at for at, (line, other) in enumerate(pairs) if line != other), min(len(own), len(its)))


def _is_less(own: list[str], its: list[str], at: int) -> bool:
    (file, _, line), (other, _, its_line) = own[at].rpartition(":"), its[at].rpartition(":")
    return file == other and int(line) < int(its_line)
