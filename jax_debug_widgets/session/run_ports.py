"""Give a run the few functions of its session that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jax_debug_widgets.session.run.ports import RunPorts

if TYPE_CHECKING:
    from collections.abc import Callable

    from jax_debug_widgets.session.added import AddedNames
    from jax_debug_widgets.session.panel.panels import Panels
    from jax_debug_widgets.session.run.run import Run
    from jax_debug_widgets.session.run.waiter import Waiter
    from jax_debug_widgets.session.switches import Switches
    from jax_debug_widgets.taps import Capture
    from jax_debug_widgets.watch import ProgramWatchers


def ports_of(
    capture: Capture,
    watchers: ProgramWatchers,
    panels: Panels,
    switches: Switches,
    added: AddedNames,
    waiter: Waiter,
    *,
    collect: Callable[[], None],
    debugging_status: Callable[[Run], dict[str, Any]],
) -> RunPorts:
    """Make the ports of a new run."""
    sites = capture.sites
    return RunPorts(
        waiter=waiter,
        backlog=capture.handover.backlog,
        collect=collect,
        outcomes_of=lambda box: capture.box(box).outcomes,
        name_file=lambda file: sites.name_file(file),  # noqa: PLW0108 - a notebook sets it later.
        panel_of=panels.of,
        refresh=panels.refresh,
        compile_report=watchers.seen,
        changed_sites=sites.changed,
        muted_sites=sites.muted,
        leaked=capture.leaks.leaked,
        muted_checks=switches.muted_checks,
        sampled_sites=sites.sampled,
        added_names=lambda: tuple(added),
        added_lines=lambda: added.lines,
        debugging_status=debugging_status,
    )
