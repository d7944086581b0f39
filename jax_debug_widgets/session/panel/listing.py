"""Send the list of this kernel's runs to the front ends, which show it beside the notebook. The twin of `js/lab/src/wire.ts`.

Kernel to front end: `{"type": "runs", "version": 1, "keys": [...], "runs": [row, ...]}`. `keys` are the keys of all known runs,
the newest last. `runs` are the rows of runs that have changed. `way` is how requests come while a cell runs. Front end to
kernel:

`list`     send the rows of all runs.
`open`     make sure that a panel of run `run` can be shown: the front end needs the model that carries its messages.
`barrier`  wait for the effects of run `run`, at most for its own time-out; its row shows the result.
`panel`    send the panel's JavaScript and its comm, as `{"type": "panel", "version": 1, "text", "comm_id", "way"}`. A page that
           is loaded while a cell runs on ipykernel 6 cannot get them otherwise before the cell ends.
`saved`    send the MIME bundle of run `run` for a notebook, as `{"type": "saved", "version": 1, "run", "data"}`. A page that
           was loaded, or was away, while the cell ran did not get what the kernel wrote into its output.
`rename`   give run `run` the name `name`; its row shows it.
`compare`  lay the runs `runs` over each other: `{"type": "compared", "version": 1, "id", ...}`, see `compared.py`.
`load`     read the runs in `path` and send their rows; `{"type": "loaded", "version": 1, "id", "problem"}` says why not.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.session.panel.all_runs import comparison
from jax_debug_widgets.session.panel.rows import Row, RunRows, row_of_file
from jax_debug_widgets.widgets import ListingComm

if TYPE_CHECKING:
    from jax_debug_widgets.session.panel.panels import Panels
    from jax_debug_widgets.session.panel.ports import PanelPorts
    from jax_debug_widgets.session.run.view import RunView

VERSION = 1

SECONDS_APART = 0.2
"""Seconds between two messages about a run in the same state. The list need not be more up to date."""

SECONDS_APART_AT_A_STOP = 1.0
"""Seconds between two messages while the program stands and only the clock changes. Messages delay the console's answers."""


class Listing:
    """Sends rows of runs to the front ends when a run begins, goes on and ends, and answers their requests."""

    def __init__(self, session: PanelPorts, panels: Panels) -> None:
        self._session, self._panels = session, panels
        self._comm = ListingComm(self.answer)
        self._rows = RunRows(panels.written)
        self._reported: dict[str, tuple[float, bool]] = {}
        """Key of a run -> when its row was last sent, and whether the run stood at a stop then."""

    def begin(self, run: RunView) -> None:
        """Open the comm if necessary, and send the row of a run that begins."""
        if self._comm.open():
            self._send([run])

    def report(self, run: RunView, *, over: bool) -> None:
        """Send the row of a run, but not too often; `over` marks the last call, which always sends it. Call it often."""
        if not self._comm.is_open:
            return
        now, stands = time.monotonic(), run.status().paused
        last, stood = self._reported.get(run.key, (0.0, False))
        if over:
            self._reported.pop(run.key, None)
        elif now - last < (SECONDS_APART_AT_A_STOP if stands and stood else SECONDS_APART):
            return
        else:
            self._reported[run.key] = now, stands
        self._send([run])

    def rows(self) -> list[Row]:
        """Return the rows of all known runs: those of files first, the newest last."""
        return [*map(row_of_file, self._session.shelved()), *map(self._rows.of, self._session.runs())]

    def forget(self, key: str) -> None:
        """Forget a run that is dropped from memory."""
        self._rows.forget(key)

    def report_all(self) -> None:
        """Send all rows, because runs were read from files."""
        if self._comm.open():
            self._send_rows(self.rows())

    def answer(self, request: dict[str, Any]) -> None:
        """Do what a front end requests. An impossible request is ignored, because the rows show the state."""
        try:
            run = self._session.find_run(str(request.get("run", "")))
        except (OSError, ValueError):  # The file of the run is gone.
            return
        match request.get("type"):
            case "list":
                self._send_rows(self.rows())
            case "rename" if run is not None:
                run.name = str(request.get("name", ""))
            case "compare":
                arguments = ([str(key) for key in request.get("runs", ())], request.get("id"))
                threading.Thread(target=self._compare, args=arguments, name="jaxdebug-compare", daemon=True).start()
            case "load":
                self._load(str(request.get("path", "")), request.get("id"))
            case "panel" if (program := self._panels.program()) is not None:
                self._comm.send({"type": "panel", "version": VERSION, **program})
            case "open" if run is not None:
                self._panels.of(run)
            case "saved" if run is not None and (data := self._panels.bundle(run)) is not None:
                self._comm.send({"type": "saved", "version": VERSION, "run": run.key, "data": data})
            case "barrier" if run is not None:
                # In a separate thread, because the thread of the requests must stay free for others.
                threading.Thread(target=self._wait, args=(run,), name="jaxdebug-barrier", daemon=True).start()

    def _wait(self, run: RunView) -> None:
        run.barrier(run.options.timeout)
        self._send([run])

    def _load(self, path: str, number: object) -> None:
        problem = ""
        try:
            self._session.load(path)
        except (ImportError, OSError, ValueError) as error:
            problem = str(error)
        self._comm.send({"type": "loaded", "version": VERSION, "id": number, "problem": problem})

    def _compare(self, keys: list[str], number: object) -> None:
        compared = comparison(self._session, keys)
        self._comm.send({"type": "compared", "version": VERSION, "id": number, **compared})

    def _send(self, runs: Iterable[RunView]) -> None:
        self._send_rows(list(map(self._rows.of, runs)))

    def _send_rows(self, rows: list[Row]) -> None:
        keys = [one.key for one in (*self._session.shelved(), *self._session.runs())]
        self._comm.send({"type": "runs", "version": VERSION, "keys": keys, "runs": rows, "way": self._comm.way})
