"""Write the folder of a run: all at once, or while it goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from jax_debug_widgets.archive.layout import (
    ARRAYS,
    CALLS,
    EVENTS,
    FORMAT,
    RUN,
    SITES,
    SOURCES,
    SPANS,
    STATE,
    TABLES,
    VERSION,
    WATCHED,
    RunFileError,
    part_name,
)
from jax_debug_widgets.archive.plain import as_plain
from jax_debug_widgets.archive.rows import TapNumber, batches_of, writable
from jax_debug_widgets.archive.schemas import SCHEMAS
from jax_debug_widgets.archive.tables import TableWriter, open_private
from jax_debug_widgets.archive.taps import written_tap
from jax_debug_widgets.events import Call, Tap, ThreadSpans
from jax_debug_widgets.store import Piece

_OF_EVENTS = (EVENTS, WATCHED, ARRAYS)


class RunWriter:
    """The folder of one run, which one process writes. Not locked.

    Attributes:
      folder: where it is.
      first, next: the events that are in it are `first .. next - 1`.
    """

    def __init__(self, folder: Path, about: Mapping[str, Any], *, process: int = 0) -> None:
        """Begin one; `about` says what is known of the run when it begins.

        Raises:
          RunFileError: there is something else already. OSError: it cannot be written.
        """
        self.folder, self.first, self.next = folder, 0, 0
        self._own = folder / f"p{process:05d}"
        _begin(folder, self._own)
        _write_whole(folder / RUN, {"format": FORMAT, "version": VERSION, **about})
        self._tables = {name: TableWriter(self._own, name) for name in TABLES}
        self._lines: dict[Tap, TapNumber] = {}
        self._known: dict[str, TapNumber] = {}
        self._sources: set[str] = set()
        self._parts: list[tuple[int, int]] = []

    def begin_at(self, first: int) -> None:
        """Before anything is taken: the first event is this one."""
        self.first = self.next = first
        for name in _OF_EVENTS:
            self._tables[name].first = self._tables[name].stop = first

    def take(self, pieces: Sequence[Piece]) -> None:
        """Write these events, which follow those that were written before."""
        if not pieces:
            return
        assert pieces[0].first == self.next, "events are missing"
        stop = pieces[-1].stop
        for name, batch in batches_of(pieces, self._number_of):
            self._tables[name].append(batch, stop)
        self.next = stop

    def take_calls(self, calls: Sequence[Call]) -> None:
        """Write how far these calls have come."""
        if calls:
            rows = [{name: writable(value) for name, value in as_plain(call).items()} for call in calls]
            self._append(CALLS, pa.RecordBatch.from_pylist(rows, SCHEMAS[CALLS]))

    def take_spans(self, spans: ThreadSpans) -> None:
        """Write what threads were at."""
        if len(spans.site):
            names = np.array([*spans.threads, ""], object)[spans.thread]
            columns = [
                pa.array(spans.site),
                pa.array(names, pa.string()),
                pa.array(spans.from_ns),
                pa.array(spans.to_ns),
            ]
            self._append(SPANS, pa.RecordBatch.from_arrays(columns, schema=SCHEMAS[SPANS]))

    def take_sources(self, sources: Mapping[str, Any]) -> None:
        """Write the text of files, each once: file -> its lines, with the names in them."""
        for file, source in sources.items():
            if file not in self._sources:
                self._sources.add(file)
                _append_line(self._own / SOURCES, {"file": file, **source})

    def write_state(self, state: Mapping[str, Any]) -> None:
        """What the run says of itself now, in place of what it said before."""
        _write_whole(self._own / STATE, {**state, "first": self.first, "next": self.next})

    def sync(self) -> None:
        """See to it that what was written outlives the power."""
        for table in self._tables.values():
            table.sync()

    @property
    def live_bytes(self) -> int:
        """Bytes of events that are not sealed."""
        return sum(self._tables[name].nbytes for name in _OF_EVENTS)

    @property
    def live_rows(self) -> int:
        """Events that are not sealed."""
        return self.next - self._tables[EVENTS].first

    def seal(self) -> None:
        """What was written becomes Parquet; what comes goes to new files."""
        first = self._tables[EVENTS].first
        for name in reversed(_OF_EVENTS):
            self._tables[name].seal(self.next)
        if self.next > first:
            self._parts.append((first, self.next))
        for name in (CALLS, SPANS):
            self._tables[name].seal(self._tables[name].stop)

    def nbytes(self) -> int:
        """Bytes of all that is there."""
        return sum(file.stat().st_size for file in self._own.rglob("*") if file.is_file())

    def let_go(self) -> tuple[int, int] | None:
        """Remove the oldest sealed events: which they were; None where there are none besides the newest."""
        if len(self._parts) < 2:  # noqa: PLR2004 - the newest stays.
            return None
        first, stop = self._parts.pop(0)
        for name in _OF_EVENTS:
            (self._own / name / part_name(first, stop)).unlink(missing_ok=True)
        self.first = stop
        return first, stop

    def close(self) -> None:
        """Write no more."""
        for table in self._tables.values():
            table.close()

    def _append(self, name: str, batch: pa.RecordBatch) -> None:
        table = self._tables[name]
        table.append(batch, table.stop + batch.num_rows)

    def _number_of(self, tap: Tap, values: Sequence[np.ndarray]) -> TapNumber:
        if tap not in self._lines:
            written = written_tap(tap, values)
            line = json.dumps(written)
            if line not in self._known:
                self._known[line] = TapNumber(len(self._known), stores_text=written["text"] is None)
                _append_text(self._own / SITES, line)
            self._lines[tap] = self._known[line]
        return self._lines[tap]


def _begin(folder: Path, own: Path) -> None:
    if own.exists() or (folder.exists() and any(folder.iterdir()) and not (folder / RUN).is_file()):
        raise RunFileError(f"{folder} is there already: choose another name, or remove it")
    own.mkdir(mode=0o700, parents=True)


def _write_whole(path: Path, data: Mapping[str, Any]) -> None:
    """A file that is there as a whole, or as it was before."""
    part = path.with_suffix(".tmp")
    with open_private(part) as file:
        file.write(json.dumps(data, indent=1).encode())
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def _append_line(path: Path, data: Mapping[str, Any]) -> None:
    _append_text(path, json.dumps(data))


def _append_text(path: Path, line: str) -> None:
    """A line is written in one go: who reads in between has all of it or passes over it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        data = (line + "\n").encode()
        while data:
            data = data[os.write(descriptor, data) :]
    finally:
        os.close(descriptor)
