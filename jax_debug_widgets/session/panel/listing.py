"""The list of this kernel's runs, as a front end shows it beside the notebook. The twin of `js/lab/src/wire.ts`.

Kernel to front end: `{"type": "runs", "version": 1, "keys": [...], "runs": [row, ...]}`. `keys` names all runs that are
known, the newest last; `runs` holds the rows of those that changed, and `way` how requests come while a cell runs. Front end
to kernel:

`list`     send the rows of all runs.
`open`     see to it that a panel of run `run` can be shown: that the front end has the model that carries its messages.
`barrier`  wait for the effects of run `run`, for as long as its own time-out; its row says what came of it.
`panel`    send the panel's program and its comm, as `{"type": "panel", "version": 1, "text", "comm_id", "way"}`: a page that is
           loaded while a cell runs on ipykernel 6 has no other way to it before the cell ends.
`saved`    send run `run` as a notebook keeps it, `{"type": "saved", "version": 1, "run", "data"}` with a MIME bundle: what the
           kernel writes into its output does not reach a page that was loaded, or was away, while the cell ran.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypedDict

from jax_debug_widgets.widgets import ListingComm

if TYPE_CHECKING:
    from jax_debug_widgets.session.panel.panels import Panels
    from jax_debug_widgets.session.panel.ports import PanelPorts
    from jax_debug_widgets.session.run.view import RunView

VERSION = 1

SECONDS_APART = 0.2
"""Between two messages about a run whose state does not change: a list is glanced at, not watched."""

SECONDS_APART_AT_A_STOP = 1.0
"""The same while the program stands and only the clock goes on: what is sent is in the way of the console's answers."""


class Row(TypedDict):
    """One run; `state` is the run's, or `paused` where it is at a stop.

    `events` counts those fired; `started` is in seconds since the epoch, `elapsed` and `waited` are in seconds. `saved` counts
    how often it was written down: `data-jaxdebug-saved` of an output says which of these it has.
    """

    key: str
    title: str
    state: str
    started: float
    elapsed: float
    events: int
    barrier: str
    pending: list[str]
    waited: float
    saved: int


def row_of(run: RunView, saved: int) -> Row:
    """The run now."""
    status = run.status()
    return Row(
        key=run.key,
        title=status.title,
        state="paused" if status.paused else status.state,
        started=status.started,
        elapsed=status.elapsed,
        events=status.events,
        barrier=status.barrier.state,
        pending=list(status.barrier.pending),
        waited=status.barrier.waited,
        saved=saved,
    )


class Listing:
    """Tells the front ends of runs that begin, go on and end."""

    def __init__(self, session: PanelPorts, panels: Panels) -> None:
        self._session, self._panels = session, panels
        self._comm = ListingComm(self.answer)
        self._told: dict[str, tuple[float, bool]] = {}
        """By run, when it was last told of, and whether it stood at a stop."""

    def begin(self, run: RunView) -> None:
        """A run begins."""
        if self._comm.open():
            self._send([run])

    def tell(self, run: RunView, *, over: bool) -> None:
        """The run goes on or, the last time, is over; to be called often."""
        if not self._comm.is_open:
            return
        now, stands = time.monotonic(), run.status().paused
        last, stood = self._told.get(run.key, (0.0, False))
        if over:
            self._told.pop(run.key, None)
        elif now - last < (SECONDS_APART_AT_A_STOP if stands and stood else SECONDS_APART):
            return
        else:
            self._told[run.key] = now, stands
        self._send([run])

    def answer(self, request: dict[str, Any]) -> None:
        """Do what a front end asks for; what cannot be done is left: the rows say how things stand."""
        run = self._session.find_run(str(request.get("run", "")))
        match request.get("type"):
            case "list":
                self._send(self._session.runs())
            case "panel" if (program := self._panels.program()) is not None:
                self._comm.send({"type": "panel", "version": VERSION, **program})
            case "open" if run is not None:
                self._panels.of(run)
            case "saved" if run is not None and (data := self._panels.bundle(run)) is not None:
                self._comm.send({"type": "saved", "version": VERSION, "run": run.key, "data": data})
            case "barrier" if run is not None:
                # In a thread of its own: the one that brings requests must stay free for others.
                threading.Thread(target=self._wait, args=(run,), name="jaxdebug-barrier", daemon=True).start()

    def _wait(self, run: RunView) -> None:
        run.barrier(run.options.timeout)
        self._send([run])

    def _send(self, runs: Iterable[RunView]) -> None:
        keys = [run.key for run in self._session.runs()]
        rows = [row_of(run, self._panels.written(run)) for run in runs]
        self._comm.send({"type": "runs", "version": VERSION, "keys": keys, "runs": rows, "way": self._comm.way})
