"""Read the folder of a run. The reader does not trust the folder: it executes nothing and checks everything.

It has more than 300 lines because reading a run is one pass over its files, and each step checks what it reads.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from jax_debug_widgets.archive.damage import whole_firings
from jax_debug_widgets.archive.files import Files, VanishedError, files_at
from jax_debug_widgets.archive.firings import Arrays, FiringRows
from jax_debug_widgets.archive.json_files import read_json, read_last_state, read_lines, read_sources
from jax_debug_widgets.archive.layout import (
    ARRAYS,
    CALLS,
    EVENTS,
    FORMAT,
    PROCESS,
    RUN,
    SITES,
    SOURCES,
    SPANS,
    STATE,
    STOPPED,
    VERSION,
    WATCHED,
    WRITER,
    RunFileError,
)
from jax_debug_widgets.archive.plain import from_plain
from jax_debug_widgets.archive.reserved import read_reserved
from jax_debug_widgets.archive.row_ranges import OPEN, RowRange, TableReader, is_sealed, stretches_of
from jax_debug_widgets.archive.taps import read_tap
from jax_debug_widgets.events import Call, Tap, ThreadSpans
from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.store import Budget, Store

_OF_EVENTS = (EVENTS, WATCHED, ARRAYS)

_WRITER_KEYS = ("host", "pid", "started")
"""What distinguishes the process that writes a run."""

_TRIES = 5
"""How often reading is tried again after a file was sealed or removed meanwhile."""


@dataclass
class SavedRun:
    """The part of a run that one process has written.

    Attributes:
      about: the facts that were known when the run began, see `RunWriter`.
      state: the latest state of the run.
      store: its events.
      calls: the latest state of its calls, in the order in which they began.
      spans: the time spans of its threads: host functions that they ran, and waits.
      sources: file -> its text, with the names in it.
      problems: sentences about what could not be read.
      left_out: the number of events, the oldest ones, that are not in the store because of the budget.
      stopped: why and when the recording stopped before the run was over, see `reserved.read_reserved`; empty if it did not.
    """

    about: dict[str, Any]
    state: dict[str, Any]
    store: Store
    calls: list[Call]
    spans: ThreadSpans
    sources: dict[str, dict[str, Any]]
    problems: list[str] = field(default_factory=list)
    left_out: int = 0
    stopped: dict[str, Any] = field(default_factory=dict)


def about_run(path: Path) -> dict[str, Any]:
    """Read the facts about the run at this path that are known without reading its events.

    Raises:
      RunFileError: there is no run, or a newer version of the package has written it.
    """
    return _about(files_at(path), path)


def processes_at(path: Path) -> list[int]:
    """Return the numbers of the processes that have written the run at this path.

    Raises:
      RunFileError: see `about_run`.
    """
    return [int(name[1:]) for name in _processes(files_at(path), path)]


def processes_of(path: Path) -> int:
    """Return the number of processes of the job that writes the run, according to the first process's files.

    Raises:
      RunFileError: see `about_run`.
    """
    files = files_at(path)
    count = read_last_state(files, f"{_processes(files, path)[0]}/{WRITER}", []).get("processes")
    return count if type(count) is int and count > 0 else 1


def read_state(path: Path) -> dict[str, Any]:
    """Read the latest state of the run at this path, as its first process has written it; empty if it cannot be read.

    Raises:
      RunFileError: see `about_run`.
    """
    files = files_at(path)
    return read_last_state(files, f"{_processes(files, path)[0]}/{STATE}", [])


def is_another_run(path: Path, process: int, about: dict[str, Any]) -> bool:
    """Whether another run is at this path now than the one with these facts, whose part `process` was read."""
    try:
        state = read_last_state(files_at(path), f"p{process:05d}/{WRITER}", [])
    except (OSError, RunFileError):
        return False  # Nothing is there at the moment.
    return any(state[name] != about.get(name) for name in _WRITER_KEYS if name in state)


class RunReader:
    """Reads the part of a run that one process writes; reading again takes in what was added since."""

    def __init__(self, path: Path, budget: Budget, process: int | None = None) -> None:
        """Begin to read process number `process`; None stands for the first process that has written anything."""
        self._path, self._store = path, Store(budget, 0)
        self.process = processes_at(path)[0] if process is None else process
        self._tables = TableReader()
        self._taps: dict[int, Tap] = {}
        self._lines = 0
        """How many lines of sites.jsonl were read."""
        self._is_miscounted = False
        """Whether a line of sites.jsonl cannot be read. It may be two lines, so the number of a later line is not known."""
        self._first = self._next = 0
        """The first event of the file, and the next event to read. The store has fewer events if some were lost."""
        self._has_begun = False
        self._damages: list[str] = []
        """The damages in the parts that are not read again."""
        self._calls: dict[int, Call] = {}
        self._call_rows = 0
        """How many rows of calls were read. Each row is a state of a call; the last one counts."""
        self._fired: Counter[int] = Counter()
        """Call -> how many of its events were read."""
        self._stamp: object = None
        self._most_mb: object = None
        """The most MB that the folder may have; None without a limit."""
        self._writer: tuple[object, ...] | None = None
        """The process that writes: its host, its number there, and when it began."""

    def has_changed(self) -> bool:
        """Return whether any file has changed since the last reading."""
        return files_at(self._path).stamp() != self._stamp

    def read(self) -> SavedRun:
        """Read all that is there now; the store is the same object each time.

        Raises:
          RunFileError: there is no run, a newer version of the package has written it, or it contradicts itself.
        """
        for _ in range(_TRIES):
            with contextlib.suppress(VanishedError):
                return self._read()
        return self._read()

    def _read(self) -> SavedRun:
        files, problems = files_at(self._path), []
        self._stamp = files.stamp()
        about = _about(files, self._path)
        own = f"p{self.process:05d}"
        self._most_mb = about.get("record_max_mb")
        about |= self._written_by(read_last_state(files, f"{own}/{WRITER}", problems))
        state = read_last_state(files, f"{own}/{STATE}", problems)
        try:
            if "is_over" not in state and is_sealed(files, own, (*_OF_EVENTS, CALLS, SPANS)):
                # A run that goes on has a file that is not sealed.
                state["is_over"] = True
            self._read_events(files, own, state, problems)
            damages: list[str] = []
            calls = self._read_calls(self._tables.table(files, own, CALLS, damages))
            problems += damages or self._without_calls(state)
            spans = _spans(self._tables.table(files, own, SPANS, problems))
        except (pa.ArrowException, OSError) as error:
            raise RunFileError(f"{self._path} cannot be read: {error}") from None
        sources, torn = read_sources(files, f"{own}/{SOURCES}", is_over=bool(state.get("is_over")))
        left_out = self._store.oldest - self._first
        stopped = {} if state.get("is_over") else read_reserved(files, f"{own}/{STOPPED}")
        problems += [*self._damages, *torn]
        return SavedRun(about, state, self._store, calls, spans, sources, problems, left_out, stopped)

    def _written_by(self, state: dict[str, Any]) -> dict[str, Any]:
        """Return what the process says about itself.

        Raises:
          RunFileError: it is not the process that had written what was read before.
        """
        writer = tuple(map(state.get, _WRITER_KEYS))
        if state and self._writer not in (None, writer):
            raise RunFileError(f"{self._path} is another run now")
        self._writer = writer if state else self._writer
        return state

    def _read_events(self, files: Files, own: str, state: dict[str, Any], problems: list[str]) -> None:
        stretches, store = stretches_of(files, own, _OF_EVENTS), self._store
        if not self._has_begun:
            self._begin_at(stretches[0].first if stretches else _first(state), _dropped(state, problems))
            stretches = self._newest(stretches)
        for number, stretch in enumerate(stretches):
            if self._has_begun and stretch.stop <= self._next:
                continue
            # If the process ended while it removed the oldest part, some of its files are gone.
            may_be_removed = number == 0 and not self._has_begun and len(stretches) > 1
            is_whole = self._read_stretch(files, own, stretch, problems, may_be_removed=may_be_removed)
            if not is_whole and may_be_removed:
                self._begin_at(stretches[1].first, {})
                continue
            self._has_begun = len(store) > store.oldest
            if not is_whole:
                if stretch.stop != OPEN or state.get("is_over"):
                    problems.append(f"The file is incomplete: the events from event {self._next} on are missing.")
                break
        else:
            self._miss_end(state)

    def _miss_end(self, state: dict[str, Any]) -> None:
        """Note that the last events of a run that is over are in no file."""
        end = state.get("next")
        if state.get("is_over") and type(end) is int and end > self._next:
            self._store.miss(end - self._next)
            self._damages.append(_gone(self._next, end, self._most_mb))
            self._next = end

    def _newest(self, stretches: list[RowRange]) -> list[RowRange]:
        """Return the last stretches that together fill the budget of events. Skip the events of the others."""
        end = max((one.stop for one in stretches if one.stop != OPEN), default=0)
        enough = [one for one in stretches if end - one.first >= self._store.budget.events]
        if not enough or enough[-1] is stretches[0]:
            return stretches
        self._next = enough[-1].first
        self._store.skip_to(self._next)
        return stretches[stretches.index(enough[-1]) :]

    def _read_calls(self, table: pa.Table) -> list[Call]:
        """Return all calls in the order in which they began; rows that were read before are not read again."""
        if len(table) < self._call_rows:  # The file was damaged since.
            self._calls, self._call_rows = {}, 0
        newest = {row["id"]: row for row in table.slice(self._call_rows).to_pylist()}
        self._calls |= {number: from_plain(Call, row) for number, row in newest.items()}
        self._call_rows = len(table)
        return [self._with_its_events(self._calls[number]) for number in sorted(self._calls)]

    def _without_calls(self, state: dict[str, Any]) -> list[str]:
        """Say how many calls with events have no row; nothing for a run that goes on, or that itself dropped as many calls."""
        missing = sum(number >= 0 and number not in self._calls for number in self._fired)
        dropped = state.get("dropped_calls")
        is_over = state.get("is_over") and "status" in state  # Its process has written the end of the run.
        if not is_over or missing <= (dropped if type(dropped) is int else 0):
            return []
        return [f"{plural(missing, 'call')} of {len(self._fired)} with events are not in the file."]

    def _with_its_events(self, call: Call) -> Call:
        """Return the call with its number of events in the file: a killed process may not have written its last row."""
        fired = self._fired[call.id]
        return replace(call, events=fired) if fired > call.events else call

    def _begin_at(self, first: int, dropped: dict[int, int]) -> None:
        self._next = self._first = first
        self._store.begin_at(first, dropped)

    def _read_stretch(
        self, files: Files, own: str, stretch: RowRange, problems: list[str], *, may_be_removed: bool
    ) -> bool:
        """Read the new events of a stretch; return whether the stretch has no more to give."""
        damages: list[str] = []
        is_sealed = stretch.stop != OPEN
        tables = {
            name: self._tables.stretch(files, own, name, stretch, damages if is_sealed else problems)
            for name in _OF_EVENTS
        }
        # Read after the events: a tap is written before its first event.
        self._read_taps(files, own, is_over=is_sealed)
        events, start = pa.concat_tables([tables[EVENTS], tables[WATCHED]]), max(self._next, stretch.first)
        arrays = tables[ARRAYS]
        if start > stretch.first:
            events = events.filter(pa.array(events["seq"].to_numpy() >= start))
        is_known = np.isin(events["tap"].to_numpy(), [*self._taps])
        why = "" if is_known.all() else f": {own}/{SITES} does not say which call site they belong to"
        if is_sealed and not damages and not why and not may_be_removed:
            is_complete = FiringRows(events, self._taps).complete(start, Arrays(arrays)) == stretch.stop - start
            why = "" if is_complete else f": files of {own} are missing"
        is_damaged = is_sealed and bool(damages or why)
        if not is_sealed and not is_known.all():
            events = events.filter(pa.array(events["seq"].to_numpy() < events["seq"].to_numpy()[~is_known].min()))
        if is_damaged:
            events, arrays = whole_firings(events, arrays, self._taps, start)
            lost = stretch.stop - start - len(events)
            self._store.miss(lost)
            self._damages += [
                *damages,
                f"{plural(lost, 'event')} of {start} to {stretch.stop - 1} cannot be read{why}.",
            ]
        if start > self._next and self._has_begun:
            self._store.miss(start - self._next)
            self._damages.append(_gone(self._next, start, self._most_mb))
        rows = FiringRows(events, self._taps)
        firings = rows.firings(start, Arrays(arrays))
        if firings is not None:
            self._store.restore(firings.batch, firings.calls, firings.executions, firings.occurrences, firings.ordinals)
        count = firings.events if firings is not None else 0
        self._fired.update(rows.calls_of(count))
        is_all = len(rows.seq) == count
        self._next = stretch.stop if is_all and is_damaged else start + count
        self._tables.forget(self._next)
        return is_all and stretch.stop in (OPEN, self._next)

    def _read_taps(self, files: Files, own: str, *, is_over: bool) -> None:
        """Read the new lines of sites.jsonl.

        Old files do not number their lines, so lines without a number are counted.
        """
        lines, damages = read_lines(files, f"{own}/{SITES}", self._lines, is_over=is_over)
        self._damages += (one for one in damages if one not in self._damages)
        self._is_miscounted |= bool(damages)
        for place, line in lines:
            self._lines = place + 1
            number = line.get("number", -1 if self._is_miscounted else place)
            try:
                if type(number) is int and number >= 0:
                    tap = read_tap(line)
                    self._taps[number] = replace(tap, site=replace(tap.site, process=self.process))
            except RunFileError as error:
                self._damages.append(f"Line {place + 1} of {own}/{SITES} cannot be read: {error}.")


def _about(files: Files, path: Path) -> dict[str, Any]:
    about = read_json(files, RUN) or {}
    if about.get("format") != FORMAT:
        raise RunFileError(f"{path} holds no run: its {RUN} says so of something else")
    version = about.get("version")
    if type(version) is not int or version < 1:
        raise RunFileError(f"{path} says it has format version {version!r:.80}, which does not exist")
    if version > VERSION:
        writer = about.get("writer", "a newer version")
        raise RunFileError(
            f"{path} was written by jax-debug-widgets {writer!s:.40}, in a newer format ({version}) than this one reads "
            f"({VERSION}): upgrade jax-debug-widgets"
        )
    return about


def _processes(files: Files, path: Path) -> list[str]:
    """Return the names of the folders of a run's processes."""
    found = sorted(name for name in files.names("") if PROCESS.fullmatch(name))
    if not found:
        raise RunFileError(f"{path} holds no run: it has no files of any process")
    return found


def _gone(first: int, stop: int, most_mb: object) -> str:
    """Write the note about events that were removed, or are lost."""
    why = (
        f" any more: it may have {most_mb} MB (record_max_mb), so the oldest events were removed before they were read"
    )
    return f"Events {first} to {stop - 1} are not in the folder{why if most_mb is not None else ''}."


def _first(state: dict[str, Any]) -> int:
    first = state.get("first")
    return first if type(first) is int and first >= 0 else 0


def _dropped(state: dict[str, Any], problems: list[str]) -> dict[int, int]:
    try:
        return {int(site): int(count) for site, count in state.get("dropped", {}).items()}
    except (AttributeError, TypeError, ValueError):
        problems.append(f"{STATE} does not say how many events were dropped: {state['dropped']!r:.80}")
        return {}


def _spans(table: pa.Table) -> ThreadSpans:
    encoded = table["thread"].combine_chunks().dictionary_encode()
    site, from_ns, to_ns = (table[name].to_numpy() for name in ("site", "from_ns", "to_ns"))
    if encoded.null_count:
        raise RunFileError("a span has no thread")
    thread = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return ThreadSpans(0, tuple(map(str, encoded.dictionary.to_pylist())), site, thread, from_ns, to_ns)
