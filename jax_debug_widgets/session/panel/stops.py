"""Send the stops of a run to the browser."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jax_debug_widgets._jax.compat.processes import joined
from jax_debug_widgets.breakpoints import Debugger
from jax_debug_widgets.breakpoints.describe import stop_body
from jax_debug_widgets.transport.stops import TypedMessage
from jax_debug_widgets.transport.wire import VERSION
from jax_debug_widgets.widgets.kernel import is_engine

if TYPE_CHECKING:
    from jax_debug_widgets.breakpoints.stop import Stop
    from jax_debug_widgets.session.panel.feed import Message
    from jax_debug_widgets.session.run.view import RunView

_WAYS = {
    "shell": "while the main thread runs a cell",
    "control": "while the main thread runs a cell, by the control channel",
    "stdin": "when the cell has ended; at a breakpoint, JAX's prompt (--prompt)",
}


class StopFeed:
    """Makes the `stop` messages of one run. Safe from any thread."""

    def __init__(self, run: RunView, debugger: Debugger, way: str) -> None:
        self._run, self._debugger, self._way = run, debugger, way
        self._lock = threading.Lock()
        self._sent_version = -1
        self._open = False

    def news(self) -> list[Message]:
        """Return the message of the stop, if it has begun, changed or ended since the last call."""
        with self._lock:
            version = self._debugger.stops.version
            if version == self._sent_version:
                return []
            self._sent_version = version
            return self._message()

    def again(self) -> list[Message]:
        """Return the message of the open stop, if there is one."""
        with self._lock:
            self._sent_version = self._debugger.stops.version
            return self._message()

    def typed(self) -> list[Message]:
        """Return the message of the lines that were typed in the console, for a page that was loaded again."""
        typed: list[TypedMessage] = [
            {"text": one.text, "output": one.output, "error": one.failed} for one in list(self._run.policy.typed)
        ]
        return [({"type": "typed", "version": VERSION, "run": self._run.key, "typed": typed}, b"")] if typed else []

    def _message(self) -> list[Message]:
        stop = self._debugger.stop if self._debugger.policy is self._run.policy else None
        if stop is None and not self._open:
            return []
        self._open = stop is not None
        body = None if stop is None else stop_body(self._placed(stop), self._way, self._run.name_file)
        return [({"type": "stop", "version": VERSION, "run": self._run.key, "stop": body}, b"")]

    def _placed(self, stop: Stop) -> Stop:
        """Add the event and the loop step to a stop. The store knows the step, because it counts the firings of a call."""
        site = stop.scene.site
        if site >= 0 and stop.scene.event < 0 and not self._is_left_out(site):
            self._run.collect()
            positions, _ = self._run.store.history.firings(site, phantoms=True)
            if len(positions):
                event = int(positions[-1])
                step = stop.scene.step or self._run.store.event(event).step
                stop.scene = replace(stop.scene, step=step, event=event)
        return stop

    def _is_left_out(self, site: int) -> bool:
        """Whether the newest event of a site may be older than the stop, because the site is muted or sampled."""
        status = self._run.status()
        return site in status.muted or site in status.every


def debugging_status(run: RunView, debugger: Debugger, way: str, *, is_active: bool) -> dict[str, Any]:
    """Return the part of a run's status about breakpoints, pause and stop."""
    points = sorted(run.policy.points.values(), key=lambda point: point.number % (1 << 32))
    return {
        "breakpoints": tuple(point.frozen(run.policy.hits[point.number]) for point in points),
        "paused": debugger.policy is run.policy and debugger.stop is not None,
        # Unless all processes stop, the others would wait in a collective. An engine gets no request while a cell runs.
        "stoppable": is_active and (joined() == 1 or run.policy.job is not None) and not is_engine(),
        "commands": _WAYS[way],
    }
