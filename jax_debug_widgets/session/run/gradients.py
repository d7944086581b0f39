"""Which gradient is that of which watched value: `paired` of js/src/views/source/rows.ts is its twin."""

from __future__ import annotations

from collections.abc import Iterable

from jax_debug_widgets.events import CallSite


def gradients_of(sites: Iterable[CallSite]) -> dict[int, CallSite]:
    """The id of a value's site -> the site of its gradient; where several derivatives are taken for it, of the first."""
    by_id = {site.id: site for site in sites if site.watch is not None}
    in_order = sorted(by_id.values(), key=lambda site: site.order, reverse=True)
    found = {site.watch.value: site for site in in_order if site.watch and site.watch.value in by_id}
    came_first = ((site.id, site.watch.gradient) for site in in_order if site.watch)
    return {**found, **{value: by_id[gradient] for value, gradient in came_first if gradient in by_id}}
