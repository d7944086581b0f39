"""Find unordered callbacks that came in another order than the program's."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax_debug_widgets.events import Event
    from jax_debug_widgets.store import Store

_MOST_EVENTS = 200
"""The number of first events of the run that are looked at."""


def misordered_notes(store: Store) -> Iterator[str]:
    """Yield the note about the first call in which a callback came before an earlier one of the source."""
    if sum(site.kind == "callback" and not site.ordered for site in store.sites()) < 2:  # noqa: PLR2004
        return
    calls: dict[int, list[Event]] = {}
    for event in store.range(store.oldest, min(store.oldest + _MOST_EVENTS, len(store))):
        if _comes_once(event):
            calls.setdefault(event.call, []).append(event)
    for events in calls.values():
        times = Counter(event.site for event in events)
        once = [event for event in events if times[event.site] == 1]  # For a repeated call the order is not known.
        for first, second in itertools.pairwise(once):
            if _stands_before(second, first):
                before, site = first.site, second.site
                yield (
                    f"{before.format} ({before.where}) was called before {site.format} ({site.where}), which stands before "
                    "it in the program: callbacks that are not ordered may come in any order. Write ordered=True."
                )
                return


def _stands_before(one: Event, other: Event) -> bool:
    """Whether an event is on an earlier line than another one of the same function, called from the same place."""
    first, second = one.site, other.site
    same = (first.file, first.function, first.callers) == (second.file, second.function, second.callers)
    return same and first.line < second.line and first.order < second.order


def _comes_once(event: Event) -> bool:
    """Whether an event is an unordered callback of a known call, on one device, and outside loops."""
    nesting = event.tap.nesting
    alone = not nesting.loops and not nesting.axes and nesting.replicas == 1 and not event.lane
    return event.kind == "callback" and not event.ordered and event.call >= 0 and alone
