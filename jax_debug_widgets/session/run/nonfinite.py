"""What to tell about values that are NaN or infinite."""

from __future__ import annotations

from jax_debug_widgets.events import CallSite, Event, Finding, NonFinite


def nonfinite(site: CallSite, found: NonFinite, first: Event | None, *, calls: int) -> Finding:
    """The finding for a site.

    Args:
      first: its first event with such a value, None where that is no longer kept.
      calls: how many calls the run has made.
    """
    where = when(first, calls=calls).removeprefix(", ")
    place = f"at {where} (event {found.first})" if where else f"in event {found.first}"
    message = f"{site.where} ({site.label}): {counted(found)} among its values, first {place}."
    if site.choice:
        message += f" They may be masked: they reach a result through {site.choice} only."
    return Finding("nonfinite", site, 0, found.nan + found.inf, 0, message)


def when(event: Event | None, *, calls: int) -> str:
    """`, call 96, step 3, lane 2`: where several calls were made, in loops and under `vmap`."""
    if event is None:
        return ""
    call = f", call {event.call}" if calls > 1 and event.call >= 0 else ""
    step = f", step {', '.join(map(str, event.step))}" if event.step else ""
    lane = f", lane {', '.join(map(str, event.lane))}" if event.lane else ""
    return call + step + lane


def counted(found: NonFinite) -> str:
    """`3 NaN, 1 infinite`."""
    parts = [f"{count} {word}" for count, word in ((found.nan, "NaN"), (found.inf, "infinite")) if count]
    return ", ".join(parts)
