"""Answer the requests of the Code view: send a file with its names, watch a name or stop watching it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.session.added import bare
from jax_debug_widgets.session.panel.lines import answer_line
from jax_debug_widgets.transport import reply
from jax_debug_widgets.watch import BY_LANE, is_library

if TYPE_CHECKING:
    from jax_debug_widgets.events import CallSite
    from jax_debug_widgets.session.panel.feed import Message
    from jax_debug_widgets.session.panel.ports import PanelPorts
    from jax_debug_widgets.session.run.view import RunView


def answer_watch(session: PanelPorts, run: RunView, number: int, request: Mapping[str, Any]) -> Message:
    """Make the answer to `source`, `watch` or `line`.

    Raises:
      LookupError, ValueError: the request cannot be fulfilled; the message says why.
    """
    if request["type"] == "line":
        return answer_line(session, run, number, request)
    if request["type"] == "source":
        return reply("source", run.key, number, **run.source_of(str(request["file"]))), b""
    return _switch(session, run, number, [str(name) for name in request["names"]], on=bool(request["on"]))


def _switch(session: PanelPorts, run: RunView, request: int, names: list[str], *, on: bool) -> Message:
    sites = (_switch_on if on else _switch_off)(session, run, names)
    return reply("done", run.key, request, sites=[site.id for site in sites]), b""


def _switch_on(session: PanelPorts, run: RunView, names: list[str]) -> list[CallSite]:
    sites, muted = _watched_as(names, run.store.sites()), session.switches.muted()
    # If no site of a name is muted, the user wants another value of this name, which no site records.
    switched = {site.watch.name for site in sites if site.watch and site.id in muted}
    missing = [name for name in names if name not in switched]
    for pattern in (*missing, *(one for one in _added_of(run) if bare(one) in names)):
        session.added.add(_in_its_file(pattern, run.store.sites()))
    # The sites of an earlier run with these names may be muted.
    for site in (*sites, *_watched_as(map(bare, missing), session.switches.sites())):
        session.switches.mute(site.id, muted=False)
    return sites


def _switch_off(session: PanelPorts, run: RunView, names: list[str]) -> list[CallSite]:
    # A name that was added for the next run is only removed again; this run goes on watching its values of that name.
    later = {*map(bare, session.added)} - {*map(bare, _added_of(run))}
    sites = _watched_as({*names} - later, run.store.sites())
    for site in sites:
        session.switches.mute(site.id, muted=True)
    for name in names:
        session.added.discard(name)
    return sites


def _added_of(run: RunView) -> tuple[str, ...]:
    return run.options.watch.added if run.options.watch else ()


def _in_its_file(pattern: str, sites: Iterable[CallSite]) -> str:
    """Return a pattern such as `lanes/h`; if all sites of `h` are in a library, limit it to the file, `lanes/h@FILE`."""
    files = [site.file for site in sites if site.watch and pattern == f"{BY_LANE}{site.watch.name}"]
    return f"{pattern}@{files[0]}" if files and all(map(is_library, files)) else pattern


def _watched_as(names: Iterable[str], sites: Iterable[CallSite]) -> list[CallSite]:
    wanted = set(names)
    return [site for site in sites if site.watch is not None and site.watch.name in wanted]
