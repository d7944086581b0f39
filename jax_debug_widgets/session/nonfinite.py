"""What to tell about values that are NaN or infinite."""

from __future__ import annotations

from jax_debug_widgets.events import CallSite, Event, Finding, NonFinite


def nonfinite(site: CallSite, found: NonFinite, first: Event | None, *, calls: int) -> Finding:
    """The finding for a site.

    Args:
      first: its first event with such a value, None where that is no longer kept.
      calls: how many calls the run has made.
    """
    place = f"event {found.first}{when(first, calls=calls)}"
    message = f"{site.where} ({site.label}): {counted(found)} among its values, first in {place}."
    return Finding("nonfinite", site, 0, found.nan + found.inf, 0, message)


def when(event: Event | None, *, calls: int) -> str:
    """`, call 96, step 3`: where several calls were made, and in loops."""
    if event is None:
        return ""
    call = f", call {event.call}" if calls > 1 and event.call >= 0 else ""
    step = f", step {', '.join(map(str, event.step))}" if event.step else ""
    return call + step


def counted(found: NonFinite) -> str:
    """`3 NaN, 1 infinite`."""
    parts = [f"{count} {word}" for count, word in ((found.nan, "NaN"), (found.inf, "infinite")) if count]
    return ", ".join(parts)
