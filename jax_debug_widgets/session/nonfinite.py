"""What to tell about values that are NaN or infinite."""

from __future__ import annotations

from jax_debug_widgets.events import CallSite, Event, Finding, NonFinite


def nonfinite(site: CallSite, found: NonFinite, first: Event | None) -> Finding:
    """The finding for a site; `first` is its first event with such a value, None where that is no longer kept."""
    step = f", step {', '.join(map(str, first.step))}" if first is not None and first.step else ""
    message = f"{site.where} ({site.label}): {counted(found)} among its values, first in event {found.first}{step}."
    return Finding("nonfinite", site, 0, found.nan + found.inf, 0, message)


def counted(found: NonFinite) -> str:
    """`3 NaN, 1 infinite`."""
    parts = [f"{count} {word}" for count, word in ((found.nan, "NaN"), (found.inf, "infinite")) if count]
    return ", ".join(parts)
