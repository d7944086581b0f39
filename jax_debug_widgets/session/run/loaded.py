"""Show a run that was read from a file. It has the same store, and so the same values, series and panel."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from jax_debug_widgets.archive import RunFileError
from jax_debug_widgets.checks import named_now
from jax_debug_widgets.events import CallSite, Finding, Status, TracePrint
from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.session.run.facts import all_of, cell_of, config_of, name_of, options_of, status_of, whole_number
from jax_debug_widgets.session.run.findings import Findings
from jax_debug_widgets.session.run.first_nonfinite import birth, first_event, joined
from jax_debug_widgets.session.run.input_files import StoredInputs
from jax_debug_widgets.session.run.liveness import has_just_written, is_alive, sign_of
from jax_debug_widgets.session.run.loaded_calls import LoadedCalls, LoadedSpans
from jax_debug_widgets.session.run.loaded_notes import notes_of
from jax_debug_widgets.session.run.place import JobProcess, place_of
from jax_debug_widgets.session.run.save import file_name, save_copy
from jax_debug_widgets.session.run.view import RunView, new_key

if TYPE_CHECKING:
    from os import PathLike

    import numpy as np

    from jax_debug_widgets.archive.reader import SavedRun
    from jax_debug_widgets.watch.choosing.compile_report import CompiledPrograms
    from jax_debug_widgets.widgets import Panel


_NOT_IN_FILES = {
    "callbacks": "what became of the calls of host functions",
    "explained": "the explanation of an exception",
    "traces": "what was traced",
    "reused_keys": "which keys were used again",
    "settings": "what was compiled into the programs",
}


class Reader(Protocol):
    """Reads a run, and again the events that have come since.

    Attributes:
      process: the number of the process that has written the run.
    """

    process: int

    def has_changed(self) -> bool:
        """Whether the file has more than was read."""
        ...

    def read(self) -> SavedRun:
        """Read everything that is in the file now. The store is the same object each time, with more events."""
        ...


class LoadedRun(RunView):
    """A run that `jdw.load` has read. It needs neither the program nor a device.

    Attributes:
      path: the folder or file that it was read from.
      process: the number of the process that wrote this part.
      inputs: the inputs of its newest calls, by call, as far as they were kept, see `jax_debug_widgets.replay`.
      started: seconds since the epoch.
      is_followed: whether it is read again and again, because another process still writes it; `wait()` waits for its end.
      followed_to_end: set when it will not be read again.
      trace_prints: see `Run`.
      compilations: see `Run`.
    """

    is_loaded = True

    @property
    def _saved_process(self) -> int | None:
        """The number of the process to copy; None for all processes."""
        return self.process

    def __init__(
        self, path: Path, reader: Reader, panel_of: Callable[[LoadedRun], Panel], key: str | None = None
    ) -> None:
        self.path, self._reader, self._panel_of = path, reader, panel_of
        self.process = reader.process
        self._saved = reader.read()
        super().__init__(self._saved.store)
        about = self._saved.about
        self.key, self._name = key or new_key(), name_of(about, self._saved.state)
        self.config = config_of(about, self._saved.state)
        self.cell, self.asked = cell_of(about), str(about.get("asked", ""))
        self.options = options_of(about)
        self.policy = self.options.policy()
        self.is_followed, self._lost, self._changed_at = False, "", time.time()
        self.followed_to_end = threading.Event()
        self._call_log = LoadedCalls()
        self._take(self._saved)
        self.started, self.file = self._status.started, file_name(path)
        self.inputs = StoredInputs(path, self.process)

    @property
    def processes(self) -> tuple[LoadedRun, ...]:
        """The parts of all processes that have written this run."""
        return (self,)

    @property
    def saved(self) -> SavedRun:
        """The state that was read last."""
        return self._saved

    def follow(self) -> bool:
        """Read the events that have come since. Return whether more may come.

        Raises:
          RunFileError: the file cannot be read any more.
        """
        self.is_followed = True
        if self._reader.has_changed():
            self._changed_at = time.time()
            self._take(self._reader.read())
        else:  # The process may have ended.
            self._status = self._status_of(self._saved.state)
        return self.goes_on

    def lose(self, why: str) -> None:
        """Follow it no longer, because its file cannot be read any more. What was read stays."""
        self.is_followed, self._lost = False, f"No longer followed: {why}. The panel shows what was read before."
        self._status = self._status_of(self._saved.state)

    def note(self, sentence: str) -> None:
        """Add a sentence to the notes of a run that is not read again."""
        self._status = replace(self._status, notes=(*self._status.notes, sentence))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until a followed run is over, and its panel says so; at most `timeout` seconds. Return whether it is over."""
        return not self.is_followed or self.followed_to_end.wait(timeout)

    @property
    def goes_on(self) -> bool:
        """Whether more events may come."""
        return self._status.state in ("running", "waiting", "loaded")

    @property
    def place(self) -> JobProcess:
        """The process that wrote it: its host, and its clock."""
        return place_of(self._saved.about)

    def _take(self, saved: SavedRun) -> None:
        self._saved, state = saved, saved.state
        watched = all_of(saved, CallSite, "watched")
        self.watched = {replace(site, process=self.process) for site in watched}
        self._call_log.take(saved.calls, LoadedSpans(saved.spans), whole_number(state, "dropped_calls"))
        self.trace_prints = all_of(saved, TracePrint, "trace_prints")
        found = state.get("compilations")
        self.compilations: dict[str, float] = found if isinstance(found, dict) else {}
        self._findings = [replace(one, kind=named_now(one.kind)) for one in all_of(saved, Finding, "findings")]
        self._status = self._status_of(state)

    @property
    def call_log(self) -> LoadedCalls:
        """Its calls."""
        return self._call_log

    @property
    def title(self) -> str:
        """The title for people: what was run."""
        return self._status.title

    @property
    def findings(self) -> Findings:
        """The findings, see `Run.findings`."""
        return Findings(joined(self._findings, self, self._status.notes))

    def found_so_far(self) -> list[Finding]:
        """See `RunView`."""
        return self._findings

    @property
    def sign(self) -> str:
        """Says what is wrong with its process, such as that it is gone; empty while it goes on, and when it is over."""
        return "has stopped recording" if self._saved.stopped else sign_of(self._saved.about, self._saved.state)

    @property
    def panel(self) -> Panel:
        """The interactive panel of this run; show it as the last expression of a cell."""
        return self._panel_of(self)

    @property
    def is_complete(self) -> bool:
        """Whether its program had ended, and the file is complete."""
        return bool(self._saved.state.get("is_over")) and not self._saved.problems

    def status(self) -> Status:
        """Return the status that the file has."""
        notes = [*self._status.notes]
        if self.store.released:
            notes.append(
                f"{plural(self.store.released, 'event')} (the oldest) were dropped from memory, because other runs were "
                "loaded after this one. Load it again to see them."
            )
        return replace(self._status, notes=tuple(notes), dropped=self.store.dropped)

    @property
    def nbytes(self) -> int:
        """The bytes of its kept events."""
        return self.store.nbytes

    def release(self, nbytes: int, *, arrays: bool) -> None:
        """Drop its oldest events, see `Run.release`."""
        self.store.release(nbytes, arrays=arrays)

    def save(self, path: str | PathLike[str], *, sources: bool = True) -> Path:
        """Copy its file: to a folder, `run.jdw`, or to one file to send, `run.jdw.zip`. See `Run.save`.

        A run of `processes` copies the part of its own process.

        Raises:
          RunFileError: the path exists. OSError: the path cannot be written.
        """
        return save_copy(self.path, path, sources=sources, process=self._saved_process)

    def __getattr__(self, name: str) -> Any:
        if name in _NOT_IN_FILES:
            msg = (
                f"a run that was loaded from a file has no {name!r}: {_NOT_IN_FILES[name]} is not in the file. It has "
                "events, sites, calls, series, values, findings and notes"
            )
            raise AttributeError(msg)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def barrier(self, timeout: float | None = None) -> bool:  # noqa: ARG002 - the same signature as `Run.barrier`.
        """Return True at once: a loaded run has nothing to wait for."""
        return True

    def collect(self) -> None:
        """Do nothing: all recorded events are in memory."""

    def earlier(self, site_id: int) -> Mapping[str, np.ndarray] | None:
        """See `RunView`."""
        if not self._saved.left_out:
            return None
        from jax_debug_widgets.archive.overview_reader import OverviewReader

        try:
            return OverviewReader(self.path, self.process).read([site_id])
        except RunFileError:  # A note says what is damaged.
            return None

    def name_file(self, file: str) -> str:
        """Return the name of a file for people."""
        return str(self._saved.sources.get(file, {}).get("where", file))

    def watch_seen(self) -> CompiledPrograms | None:
        """Return None: a file has no programs."""
        return None

    def source_of(self, file: str) -> Mapping[str, Any]:
        """Return the text of a source file as it was when the run was written.

        Raises:
          LookupError: the text is not in the run's file.
        """
        if file not in self._saved.sources:
            raise LookupError(f"the text of {file!r} is not in {self.path}")
        return self._saved.sources[file]

    def _status_of(self, state: Mapping[str, Any]) -> Status:
        status, about, is_over = status_of(self._saved), self._saved.about, bool(state.get("is_over"))
        is_there = not (is_over or self._lost or self._saved.stopped) and is_alive(about, state)
        goes_on = is_there and (self.is_followed or has_just_written(about, state))
        messages = {one.message for one in self._findings}  # Files of older versions have findings among the notes.
        notes = [note for note in status.notes if note not in messages]
        followed = self._changed_at if self.is_followed else None
        notes = tuple(notes_of(self._saved, notes, goes_on=goes_on, lost=self._lost, followed=followed))
        now = status.state
        if not is_over and now in ("running", "waiting") and not (goes_on and self.is_followed):
            now = "loaded" if goes_on else "interrupted"
        return replace(
            status,
            state=now,
            events=len(self.store),
            dropped=self.store.dropped,
            first_nonfinite=first_event(self, birth(self._findings, self, notes)),
            dropped_by_site=self.store.dropped_by_site(),
            notes=notes,
            added=(),
            lines=(),
            muted=(),
            every={},
            breakpoints=(),
            paused=False,
            stoppable=False,
        )
