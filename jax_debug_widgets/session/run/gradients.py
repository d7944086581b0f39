"""Find the gradient of each watched value. The twin is `paired` of `js/src/views/source/rows.ts`."""

from __future__ import annotations

from collections.abc import Iterable

from jax_debug_widgets.events import CallSite


def gradients_of(sites: Iterable[CallSite]) -> dict[int, CallSite]:
    """Return id of a value's site -> the site of its gradient; the first one, if there are several derivatives."""
    in_order = sorted((site for site in sites if site.watch), key=_place)
    gradients = [site for site in in_order if site.watch and site.watch.role == "gradient"]
    firsts = {site.watch.value: site for site in reversed(gradients) if site.watch}
    by_id: dict[int | None, CallSite] = {site.id: site for site in gradients}
    found: dict[int, CallSite] = {}
    for site in in_order:
        if site.watch and site.watch.role == "value":
            own = [one for one in (firsts.get(site.id), by_id.get(site.watch.gradient)) if one]
            if own:
                found[site.id] = min(own, key=_place)
    return found


def _place(site: CallSite) -> tuple[int, int]:
    return site.order, site.id
