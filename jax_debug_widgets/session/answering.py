"""Tell the debugger who can answer a stop: pages that show the panel, a prompt, or nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jax_debug_widgets._jax.compat.processes import joined
from jax_debug_widgets.breakpoints import PromptPlace, RunObservers
from jax_debug_widgets.widgets import may_ask

if TYPE_CHECKING:
    from collections.abc import Callable

    from jax_debug_widgets.session.panel.panels import Panels
    from jax_debug_widgets.session.run.run import Run


def observers_of(panels: Panels, current: Callable[[], Run | None]) -> RunObservers:
    """Make the debugger's observers, for the panel of the run that `current` returns."""

    def place() -> PromptPlace:
        if joined() > 1:
            return "job"
        run = current()
        if run is not None and panels.shows(run):
            return "panel"
        return "prompt" if may_ask() else "nowhere"

    return RunObservers(place, may_ask, lambda: panels.way)
