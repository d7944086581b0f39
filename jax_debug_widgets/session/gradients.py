"""Which gradient is that of which watched value: `paired` of js/src/views/source/rows.ts is its twin."""

from __future__ import annotations

from collections import Counter
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
    values = {site.id: site for site in in_order if site.watch and site.watch.role == "value"}
    gradients = [site for site in reversed(in_order) if site.watch and site.watch.role == "gradient"]
    told = Counter(site.watch.value for site in gradients if site.watch)
    found: dict[int, CallSite] = {}
    left: list[CallSite] = []
    for site in gradients:
        number = site.watch.value if site.watch else None
        # JAX may run one body for several loops, and then does not tell which of them it is.
        value = values.get(number) if number is not None and told[number] == 1 else None
        if value is not None:
            found[value.id] = site
        if value is None or value.phase == "recompute":  # The forward pass has computed the same before.
            left.append(site)
    forward = [site for site in values.values() if site.phase != "recompute" and site.id not in found]
    found.update(_in_order(forward, left))
    return found


def _in_order(values: Sequence[CallSite], gradients: list[CallSite]) -> dict[int, CallSite]:
    """The gradient of the last execution comes first; a value that is not differentiated may stand beside one that is."""
    is_some = any("jvp" in site.transforms for site in values)
    found: dict[int, CallSite] = {}
    for site in values:
        if gradients and ("jvp" in site.transforms or not is_some):
            scope = site.watch.scope if site.watch else ""
            gradient = next((one for one in gradients if one.watch and one.watch.scope == scope), gradients[0])
            gradients.remove(gradient)
            found[site.id] = gradient
    return found
