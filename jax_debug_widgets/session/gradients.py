"""Which gradient is that of which watched value: `paired` of js/src/views/source/rows.ts is its twin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jax_debug_widgets.events import CallSite


def gradients_of(sites: Iterable[CallSite]) -> dict[int, CallSite]:
    """The id of a value's site -> the site of its gradient."""
    groups: dict[object, list[CallSite]] = {}
    for site in sites:
        if site.watch is not None:
            span = site.line, site.column, site.end_line, site.end_column
            groups.setdefault((site.file, span, site.watch.name), []).append(site)
    return {number: gradient for group in groups.values() for number, gradient in _paired(group).items()}


def _paired(sites: Sequence[CallSite]) -> dict[int, CallSite]:
    """Of the executions of one expression: as the compiler tells it, and where it does not, in their order."""
    in_order = sorted(sites, key=lambda site: site.order)
    values = [site for site in in_order if site.watch and site.watch.role == "value"]
    gradients = [site for site in reversed(in_order) if site.watch and site.watch.role == "gradient"]
    found = {site.watch.value: site for site in gradients if site.watch and site.watch.value is not None}
    by_id = {site.id: site for site in gradients}
    found |= {site.id: by_id[one] for site in values if site.watch and (one := site.watch.gradient) in by_id}
    told = {site.id for site in found.values()}
    untold = [site for site in gradients if site.watch and site.watch.value is None and site.id not in told]
    is_some = any("jvp" in site.transforms for site in values)
    for site in values:
        # The gradient of the last execution comes first; a value that is not differentiated may stand beside one that is.
        if untold and site.id not in found and ("jvp" in site.transforms or not is_some):
            scope = site.watch.scope if site.watch else ""
            gradient = next((one for one in untold if one.watch and one.watch.scope == scope), untold[0])
            untold.remove(gradient)
            found[site.id] = gradient
    return found
