"""Keep the runs of a session, and show those that were read from files. It needs no JAX."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.session.loading import load
from jax_debug_widgets.session.memory import keep_within
from jax_debug_widgets.session.panel.listing import Listing
from jax_debug_widgets.session.panel.panels import Panels
from jax_debug_widgets.session.runs import Runs
from jax_debug_widgets.without_jax import refuse

if TYPE_CHECKING:
    from pathlib import Path

    from jax_debug_widgets.session.run.loaded import LoadedRun
    from jax_debug_widgets.session.run.run import Run
    from jax_debug_widgets.session.run.run_row import RunRow
    from jax_debug_widgets.session.run.view import RunView

LOADED_BYTES = 4 << 30
"""The most bytes of values that all loaded runs hold together. Beyond it the oldest runs drop their values, and say so."""


class RunKeeper:
    """Holds the runs of this process, and their panels.

    Attributes:
      panels: the panels of the runs.
      listing: the table of runs of the front ends.
    """

    def __init__(self) -> None:
        ports: Any = self
        self.panels = Panels(ports)
        self.listing = Listing(ports, self.panels)
        self._runs = Runs(self._forget)

    def find_run(self, key: str) -> RunView | None:
        """Return the run of a key; None if it is not known any more."""
        return self._runs.find(key)

    def runs(self) -> list[RunView]:
        """Return all known runs, the newest last."""
        return self._runs.known()

    def take_loaded(self, run: LoadedRun) -> None:
        """Add a run that was read from a file, so that its panel can be shown and the front ends list it."""
        self._runs.take_loaded(run)
        keep_within(self._runs.loaded(), LOADED_BYTES)
        run.when_renamed(self._renamed)
        self.listing.begin(run)

    def shelve(self, rows: Sequence[RunRow], load: Callable[[Path], LoadedRun]) -> None:
        """Let the front ends list these runs in files. `load` reads the whole run when a front end asks for it."""
        self._runs.shelve(rows, load)
        self.listing.report_all()

    def shelved(self) -> list[RunRow]:
        """Return the rows of the runs in files that were not read whole."""
        return self._runs.shelved()

    def load(self, path: str) -> None:
        """Read the run or the runs at this path, for the table of runs.

        Raises:
          RunFileError, OSError: the path cannot be read. ImportError: pyarrow is not installed.
        """
        load(self, path)

    def _renamed(self, run: RunView) -> None:
        self.listing.begin(run)
        self.panels.send_rows(run)

    def _forget(self, key: str) -> None:
        self.panels.forget(key)
        self.listing.forget(key)


_NO_DEBUGGER = SimpleNamespace(
    stop=None, policy=None, stops=SimpleNamespace(version=-1), observers=SimpleNamespace(heard=lambda: None)
)
"""The debugger of a process in which no program runs: it never has a stop."""


class ReadingSession(RunKeeper):
    """The session of a process that has no JAX: it reads runs from files. Other attributes raise an error: JAX is needed."""

    current: Run | None = None
    debugger = _NO_DEBUGGER

    def __getattr__(self, name: str) -> Any:
        refuse(f"This (`session.{name}`)")


@functools.cache
def reading_session() -> ReadingSession:
    """Return the session of this process; the first call makes it."""
    return ReadingSession()
