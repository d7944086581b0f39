"""Find values that are NaN or infinite: where the first one comes from, and which others follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jax_debug_widgets.events import CallSite, Derivative, Event, Finding, NonFinite
from jax_debug_widgets.events.amounts import lane_text
from jax_debug_widgets.events.texts import BAD_LANE
from jax_debug_widgets.session.run.operands import operands_of
from jax_debug_widgets.session.run.ports import Counted
from jax_debug_widgets.session.run.program_order import ProgramOrder

_MOST_NAMES = 4
"""The most values that a sentence names."""


@dataclass(frozen=True)
class OddSite:
    """A site with values that are not finite.

    Attributes:
      found: the number of these values, and the position of the first event with one.
      first: the first event with one; None if it is no longer kept.
    """

    site: CallSite
    found: NonFinite
    first: Event | None

    @property
    def moment(self) -> tuple[Any, ...]:
        """The key of a step of a function; it is equal for the lines of the function in the same step."""
        when = self.step or self.found.first
        return self.site.file, self.site.function, self.site.phase, when

    @property
    def step(self) -> tuple[Any, ...] | None:
        """The call and the loop steps of its first event; None if the event is no longer kept."""
        return (self.first.call, self.first.step) if self.first else None

    @property
    def lane(self) -> tuple[int, ...]:
        """The lane of its first event, or of the first number in it that is not finite; () if it is not known."""
        event = self.first
        watch = event.site.watch if event else None
        if event is None or event.lane or watch is None or not watch.vmapped:
            return event.lane if event else ()
        return watch.lane(int(dict(zip(event.site.values, event.values, strict=False)).get(BAD_LANE, -1)))

    @property
    def has_nan(self) -> bool:
        """Whether its first event has a NaN, and not only infinities."""
        if self.first is None:
            return self.found.nan > 0
        named = dict(zip(self.site.values, self.first.values, strict=False))
        numbers = [named["nan"]] if self.site.watch and "nan" in named else self.first.values
        is_count = self.site.watch is not None and "nan" in named
        return any(_nans(one, is_count=is_count) for one in numbers)

    def finding(self, calls: int, *, masked: bool, follows: bool, operands: str = "") -> Finding:
        """Make the finding about this site; `calls` is the number of the run's calls.

        `operands` says what the variables of the line were, see `operands_of`.

        If the site follows another one (`follows`), no derivative is named as the cause.
        """
        site, found = self.site, self.found
        derivatives: Sequence[Derivative] = () if follows else derivatives_of(self.site)
        where = when(self.first, self.lane, calls=calls).removeprefix(", ")
        place = f"at {where} (event {found.first} of run.events)" if where else f"in event {found.first} of run.events"
        begins = "an infinite one " if found.nan and not self.has_nan else ""
        counts = f"{counted(found)} among its values, first {begins}{place}."
        sentences = [f"{_computed(derivatives)}."] if derivatives else []
        if operands:
            sentences.append(f"There {operands}.")
        if masked:
            sentences.append(f"They may be masked: they reach a result only through {site.choice}.")
        if site.watch and site.watch.has_ended_lanes:
            sentences.append(
                "They may come from lanes that had already left the `while_loop`: JAX goes on computing these and "
                "discards them."
            )
        guilty = derivatives[0] if derivatives and is_one(derivatives) else site
        return Finding(
            "nonfinite",
            site,
            0,
            found.nan + found.inf,
            0,
            " ".join([f"{site.where} ({site.label}): {counts}", *sentences]),
            guilty.where,
            headline=f"{_called(site)} becomes {'NaN' if self.has_nan else 'infinite'}",
            why=" ".join([f"{counts[:1].upper()}{counts[1:]}", *sentences]),
            file=guilty.file,
            span=(guilty.line, -1, guilty.line, -1),
            event=found.first,
            lane=self.lane,
        )


def nonfinite_findings(run: Counted) -> list[Finding]:
    """Return a finding for each site where a NaN or an infinity began, in order of time; later ones are in `followed_by`.

    In the same step, only values that are computed from a value follow it. A NaN in a later step than infinities begins a new
    finding, because infinities may be there on purpose. A value that a choice (`jnp.where`) leaves out may be so on purpose
    too; if such a site was first, it is a finding of its own.
    """
    calls = run.call_log.newest + 1
    sites = sites_of(run)
    groups = _groups(run, sites)
    return [
        _merged(
            [
                one.finding(
                    calls,
                    masked=is_masked(run, one, sites),
                    follows=one is not group[0],
                    operands=_operands(run, one) if one is group[0] else "",
                )
                for one in group
            ]
        )
        for group in groups
    ]


def _operands(run: Counted, one: OddSite) -> str:
    is_made_here = one.site.watch is not None and (one.site.watch.role == "value" or is_one(derivatives_of(one.site)))
    return operands_of(run, one.first, one.found.first) if one.first is not None and is_made_here else ""


def is_masked(run: Counted, one: OddSite, sites: Sequence[OddSite]) -> bool:
    """Whether a `where` may mask the value of a site.

    It is False if a value that is computed from it in the same call is not finite and is not behind a `where`.
    """
    seen = run.watch_seen()
    upstream = seen.upstream if seen else {}

    def is_reached(other: OddSite) -> bool:
        if other.site.choice or (other.first and one.first and other.first.call != one.first.call):
            return False
        own, beside = upstream.get(other.site.id), upstream.get(one.site.id)
        return own is None or beside is None or own.may_come_from(beside)

    return bool(one.site.choice) and not any(map(is_reached, sites))


def when(event: Event | None, lane: tuple[int, ...], *, calls: int) -> str:
    """Write the time of an event: `, call 96, step 3, lane 2, cpu:1`, without the parts that do not apply."""
    if event is None:
        return ""
    call = f", call {event.call}" if calls > 1 and event.call >= 0 else ""
    step = f", step {', '.join(map(str, event.step))}" if event.step else ""
    return call + step + in_lane(lane) + on_device(event)


def in_lane(lane: tuple[int, ...]) -> str:
    """Write a lane: `, lane 2`; empty if it is not known."""
    return f", {lane_text(lane)}" if lane else ""


def on_device(event: Event) -> str:
    """Write the device of an event: `, cpu:1`; empty if one device fires for all."""
    return f", {event.device}" if event.device else ""


def counted(found: NonFinite) -> str:
    """Write numbers of NaN and infinities: `3 NaN, 1,024 infinite`."""
    parts = [f"{count:,} {word}" for count, word in ((found.nan, "NaN"), (found.inf, "infinite")) if count]
    return ", ".join(parts)


def sites_of(run: Counted) -> list[OddSite]:
    """Return the sites in the order of their first events, but the site where the first NaN or infinity arose comes first.

    That is the first site that no choice may have left out, or a site of the same step that it was computed from. Events of
    the same step of a call come in no order: a print may show a value before the line that computes it, and the backward pass
    of one layer may come before the forward pass of all.
    """
    sites = {site.id: site for site in run.store.sites()}
    kept = [
        OddSite(sites[number], found, next(iter(run.store.range(found.first, found.first + 1)), None))
        for number, found in run.store.nonfinite().items()
    ]
    kept.sort(key=lambda one: one.found.first)
    first = next((one for one in kept if not one.site.choice), next(iter(kept), None))
    born = _born(kept, first, ProgramOrder(sites.values(), run.name_file)) if first else None
    # An argument exists before the loops of its call, but its event may come after theirs.
    given = (one for one in kept if first and _is_given(one, first))
    root = next(given, born)
    return sorted(kept, key=lambda one: one is not root)


def _is_given(one: OddSite, other: OddSite) -> bool:
    """Whether a site is an argument of the call in which the other site had its first event."""
    watch, own, beside = one.site.watch, one.first, other.first
    if watch is None or own is None or beside is None or own.step or watch.role == "gradient":
        return False
    return watch.primitive == "argument" and own.call == beside.call >= 0


def _nans(value: Any, *, is_count: bool) -> bool:
    array = np.asarray(value)
    return bool((array > 0).any()) if is_count else array.dtype.kind in "fc" and bool(np.isnan(array).any())


def _born(sites: Sequence[OddSite], first: OddSite, order: ProgramOrder) -> OddSite:
    """Return the site that the program computes first; `first` is the site that arrived first."""
    root, left = first, [one for one in sites if one.first and one is not first]
    while root.first:
        moment, event = root.moment, root.first
        before = (one for one in left if not one.site.choice or one.moment == moment)
        one = next((one for one in before if one.first and order.is_before(one.first, event)), None)
        if one is None:
            break
        left.remove(one)
        root = one
    return root


def _groups(run: Counted, sites: Sequence[OddSite]) -> list[list[OddSite]]:
    """Group the sites: each group has the site where a NaN began, and then the sites that followed it."""
    seen = run.watch_seen()
    upstream = seen.upstream if seen else {}

    def follows(one: OddSite, root: OddSite) -> bool:
        if (
            one.step != root.step
        ):  # In a later step any value may follow, except a NaN after infinities, which may be there on purpose.
            return bool(root.found.nan) or not one.found.nan
        own, other = upstream.get(one.site.id), upstream.get(root.site.id)
        return own is None or other is None or own.may_come_from(other)

    masked = [one for one in sites if one.site.choice and one.found.first < sites[0].found.first]
    groups: list[list[OddSite]] = []
    for one in sites:
        if one not in masked:
            known = next((group for group in groups if any(follows(one, before) for before in group)), None)
            groups.append([one]) if known is None else known.append(one)
    return [*groups, *([one] for one in masked)]


def _merged(findings: Sequence[Finding]) -> Finding:
    """Return the first finding, with the others in `followed_by`."""
    first, *others = findings
    if not others:
        return first
    labels = [one.site.label for one in others if one.site]
    named = ", ".join(labels[:_MOST_NAMES]) + (", …" if len(labels) > _MOST_NAMES else "")
    follow = f" {len(others)} other{'s' * (len(others) > 1)} had one later: {named}."
    return replace(first, message=first.message + follow, followed_by=tuple(others))


def _called(site: CallSite) -> str:
    """Write the name of a site's value: `the gradient of n2`."""
    is_gradient = site.watch is not None and site.watch.role == "gradient"
    return f"the gradient of `{site.watch.name}`" if is_gradient and site.watch else f"`{site.label}`"


def derivatives_of(site: CallSite) -> Sequence[Derivative]:
    """Return the derivatives that may have made a site's NaN."""
    return site.watch.derivatives if site.watch else ()


def is_one(derivatives: Sequence[Derivative]) -> bool:
    """Whether it is known which derivative is the cause."""
    return len(derivatives) == 1 and not derivatives[0].or_later


def _computed(derivatives: Sequence[Derivative]) -> str:
    """Write the cause: `The derivative of jnp.sqrt(n2) at model.py:5 computes it`; for several, that one of them does."""
    texts = [f"`{one.text}` at {one.where}" for one in derivatives]
    if is_one(derivatives):
        return f"The derivative of {texts[0]} computes it"
    left = len(texts) - _MOST_NAMES
    texts = [*texts[:_MOST_NAMES], *([f"one of {left} others"] if left > 0 else [])]
    texts += ["what comes after"] if derivatives[0].or_later else []
    which = f"{', '.join(texts[:-1])} or {texts[-1]}"
    return f"The derivative of {which} computes it: --check nonfinite finds out which"
