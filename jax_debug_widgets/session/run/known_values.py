"""Find the values that a stopped program has computed in the same step, for the debugger."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax_debug_widgets.events import Event
    from jax_debug_widgets.session.run.ports import Values
    from jax_debug_widgets.taps.gate import Firings


_LOOKED_THROUGH = 20_000
"""The number of newest events that are looked through; those of the same step are among them."""


def known_at(run: Values, site_id: int) -> Firings:
    """Return the newest watched values of the call, device and step in which a site has just fired; the last of inner loops."""
    run.collect()
    newest = _newest_by_site(run)
    own = newest.pop(site_id, None)
    if own is None or own.call < 0:
        return []
    found = [event for event in newest.values() if event.site.watch is not None and _is_of_one_step(own, event)]
    return [(event.tap, event.values) for event in sorted(found, key=lambda event: event.seq)]


def _newest_by_site(run: Values) -> dict[int, Event]:
    """Return site id -> its newest event."""
    store = run.store
    pieces = store.columns(max(len(store) - _LOOKED_THROUGH, 0), len(store))
    newest = {site: piece.first + at for piece in pieces for at, site in enumerate(piece.site.tolist())}
    return {site: store.event(position) for site, position in newest.items()}


def _is_of_one_step(own: Event, other: Event) -> bool:
    depth = min(len(own.step), len(other.step))
    return (own.call, own.device, own.step[:depth]) == (other.call, other.device, other.step[:depth])
