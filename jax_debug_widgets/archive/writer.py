"""Write the folder of a run: all at once, or while the run goes on."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from jax_debug_widgets.archive.inputs import StoredCall, write_call
from jax_debug_widgets.archive.layout import (
    ARRAYS,
    CALLS,
    EVENTS,
    FOLLOWED,
    FORMAT,
    INPUTS,
    OVERVIEW,
    PROCESS,
    RUN,
    SITES,
    SOURCES,
    SPANS,
    STATE,
    STOPPED,
    TABLES,
    VERSION,
    WATCHED,
    WRITER,
    RunFileError,
    input_name,
    part_name,
)
from jax_debug_widgets.archive.overview import Overview
from jax_debug_widgets.archive.reserved import ReservedNote
from jax_debug_widgets.archive.rows import TapNumber, batches_of, writable
from jax_debug_widgets.archive.schemas import SCHEMAS
from jax_debug_widgets.archive.tables import PrivateFile, TableWriter, being_written, write_part
from jax_debug_widgets.archive.taps import written_tap
from jax_debug_widgets.events import Call, Tap, ThreadSpans
from jax_debug_widgets.store import SegmentSlice

_OF_EVENTS = (EVENTS, WATCHED, ARRAYS)

_LONG = 1 << 14
"""The fewest events of a file that gets an overview. For fewer events, a reader makes the overview itself as fast."""


@dataclass(frozen=True)
class _Part:
    """Sealed events `first .. stop - 1`: the size of their files in bytes, and the number of events by site."""

    first: int
    stop: int
    nbytes: int
    counts: Counter[int]


class RunWriter:
    """Writes the part of a run's folder that belongs to one process. It has no lock.

    Attributes:
      folder: the folder of the run.
      first, next: the folder holds the events `first .. next - 1`.
      dropped: how many events of each site have been removed.
      inputs: the calls with stored inputs, and the size of the file of each in bytes.
    """

    def __init__(self, folder: Path, about: Mapping[str, Any], *, process: int = 0) -> None:
        """Begin a folder; `about` holds the facts that are known when the run begins.

        Raises:
          RunFileError: there is something else already. OSError: it cannot be written.
        """
        self.folder, self.first, self.next = folder, 0, 0
        self._own = folder / f"p{process:05d}"
        _begin(folder, self._own)
        self._about = {name: about[name] for name in ("host", "pid", "started", "processes") if name in about}
        _write_whole(self._own / WRITER, self._about)
        self._reserved = ReservedNote(self._own / STOPPED)
        # Written last: this file makes the folder a run, and a reader must know the number of processes from then on.
        _write_whole(folder / RUN, {"format": FORMAT, "version": VERSION, **about}, beside=self._own)
        self._tables = {name: TableWriter(self._own, name) for name in TABLES}
        self._lines: dict[Tap, TapNumber] = {}
        self._known: dict[str, TapNumber] = {}
        self._sources: dict[str, int] = {}
        self._overview = Overview()
        self._parts: list[_Part] = []
        self._sealed_bytes = 0
        self.inputs: dict[int, int] = {}
        self._counts: Counter[int] = Counter()
        """The number of unsealed events by site."""
        self.dropped: Counter[int] = Counter()

    def begin_at(self, first: int) -> None:
        """Set the number of the first event; called before any event is written."""
        self.first = self.next = first
        for name in _OF_EVENTS:
            self._tables[name].first = self._tables[name].stop = first

    def take(self, pieces: Sequence[SegmentSlice]) -> None:
        """Write these events, which must follow the last ones written."""
        if not pieces:
            return
        assert pieces[0].first == self.next, "events are missing"
        stop = pieces[-1].stop
        for name, batch in batches_of(pieces, self._number_of):
            self._tables[name].append(batch, stop)
        for piece in pieces:
            self._counts.update(piece.segment.sites_between(piece.first, piece.stop))
        self.next = stop

    def take_calls(self, calls: Sequence[Call]) -> None:
        """Write the present state of these calls."""
        if calls:
            columns = [[writable(getattr(call, field.name)) for call in calls] for field in SCHEMAS[CALLS]]
            arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMAS[CALLS], strict=True)]
            self._append(CALLS, pa.RecordBatch.from_arrays(arrays, schema=SCHEMAS[CALLS]))

    def take_spans(self, spans: ThreadSpans) -> None:
        """Write the time spans of threads."""
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
        """Write the lines of source files, with the names in them; for each file the latest entry counts."""
        for file, source in sources.items():
            line = json.dumps({"file": file, **source})
            if self._sources.get(file) != hash(line):
                self._sources[file] = hash(line)
                _append_text(self._own / SOURCES, line)

    def take_inputs(self, call: int, stored: StoredCall) -> None:
        """Write the inputs of a call."""
        self.inputs[call] = write_call(self._own, call, stored)

    def forget_inputs(self, call: int) -> None:
        """Remove the inputs of a call."""
        del self.inputs[call]
        (self._own / INPUTS / input_name(call)).unlink(missing_ok=True)

    def write_state(self, state: Mapping[str, Any]) -> None:
        """Write the state of the run, which replaces the one before."""
        _write_whole(self._own / STATE, {**state, "first": self.first, "next": self.next})

    def write_clock(self, ahead: float, error: float) -> None:
        """Write that this process's clock is `ahead` seconds ahead of that of process 0, to within `error` seconds."""
        _write_whole(self._own / WRITER, {**self._about, "clock": {"ahead": ahead, "error": error}})

    def rename(self, name: str) -> None:
        """Give the run a new name, also after its folder is sealed; the rest of its state stays as it is."""
        state = json.loads((self._own / STATE).read_text(encoding="utf-8"))
        _write_whole(self._own / STATE, {**state, "name": name})

    @property
    def nbytes(self) -> int:
        """The bytes of the tables and of the inputs of calls."""
        return self._sealed_bytes + sum(table.nbytes for table in self._tables.values()) + sum(self.inputs.values())

    def sync(self) -> None:
        """Flush the tables to disk, so that they survive a power failure."""
        for table in self._tables.values():
            table.sync()

    @property
    def live_bytes(self) -> int:
        """The bytes of unsealed events."""
        return sum(self._tables[name].nbytes for name in _OF_EVENTS)

    @property
    def live_rows(self) -> int:
        """The number of unsealed events."""
        return self.next - self._tables[EVENTS].first

    def seal(self) -> None:
        """Convert the unsealed rows to Parquet files; later rows go to new files."""
        first, seen = self._tables[EVENTS].first, []
        nbytes = self._tables[ARRAYS].seal(self.next)
        for name in (WATCHED, EVENTS):
            nbytes += self._tables[name].seal(self.next, lambda rows: seen.append(self._overview_of(rows)))
        if self.next - first >= _LONG:
            nbytes += self._write_overview(part_name(first, self.next), pa.concat_tables(seen))
        if self.next > first:
            self._parts.append(_Part(first, self.next, nbytes, self._counts))
            self._counts = Counter()
        self._sealed_bytes += nbytes + sum(self._tables[name].seal(self._tables[name].stop) for name in (CALLS, SPANS))

    def _overview_of(self, rows: pa.Table) -> pa.Table:
        return self._overview.of(rows, {number.line: tap for tap, number in self._lines.items()})

    def _write_overview(self, name: str, rows: pa.Table) -> int:
        folder = self._own / OVERVIEW
        folder.mkdir(mode=0o700, exist_ok=True)
        write_part(folder / name, OVERVIEW, rows.sort_by("site"))
        return (folder / name).stat().st_size

    def let_go(self) -> bool:
        """Remove the oldest sealed events, unless only the newest part is left; return whether any were removed."""
        if len(self._parts) < 2:  # noqa: PLR2004 - the newest stays.
            return False
        part = self._parts.pop(0)
        for name in (*_OF_EVENTS, OVERVIEW):
            (self._own / name / part_name(part.first, part.stop)).unlink(missing_ok=True)
        self.first = part.stop
        self.dropped += part.counts
        self._sealed_bytes -= part.nbytes
        return True

    def stop(self, why: str) -> None:
        """Write why no more will be written, also when the disk is full, and close all files."""
        self._reserved.write(why)
        self.close()

    def close(self) -> None:
        """Close all files."""
        for table in self._tables.values():
            table.close()
        self._reserved.remove_if_blank()

    def discard(self) -> None:
        """Remove all files of this process, and the folder if no other process has written to it."""
        self.close()
        shutil.rmtree(self._own, ignore_errors=True)
        if not any(PROCESS.fullmatch(path.name) for path in self.folder.iterdir()):
            shutil.rmtree(self.folder, ignore_errors=True)

    def _append(self, name: str, batch: pa.RecordBatch) -> None:
        table = self._tables[name]
        table.append(batch, table.stop + batch.num_rows)

    def _number_of(self, tap: Tap, values: Sequence[np.ndarray]) -> TapNumber:
        if tap not in self._lines:
            written = written_tap(tap, values)
            line = json.dumps(written)
            if line not in self._known:
                self._known[line] = TapNumber(len(self._known), stores_text=written["text"] is None)
                _append_text(self._own / SITES, json.dumps({"number": len(self._known) - 1, **written}))
            self._lines[tap] = self._known[line]
        return self._lines[tap]


def _begin(folder: Path, own: Path) -> None:
    there = RunFileError(f"{folder} is there already: choose another name, or remove it")
    if own.exists() or (folder.exists() and not all(map(_is_of_a_run, folder.iterdir()))):
        raise there
    try:
        own.mkdir(mode=0o700, parents=True)
    except FileExistsError:  # Another thread has just made it, or a link to nothing has the name of the folder.
        raise there from None


def _is_of_a_run(path: Path) -> bool:
    """Return whether a path in the folder may belong to the same run.

    Another process may have just begun to write the run, and a reader may follow it already.
    """
    return path.name in (RUN, FOLLOWED) or PROCESS.fullmatch(path.name) is not None


def _write_whole(path: Path, data: Mapping[str, Any], *, beside: Path | None = None) -> None:
    """Write a file so that readers find either all of it or the previous one.

    The temporary file is in the same folder, or in `beside`, a folder of this process.
    """
    with being_written(path, beside) as part, PrivateFile(part) as file:
        file.write(json.dumps(data, indent=1).encode())
        os.fsync(file.fileno())


def _append_text(path: Path, line: str) -> None:
    """Append a line in one write, so that a concurrent reader finds all of it or an incomplete last line."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        data = (line + "\n").encode()
        while data:
            data = data[os.write(descriptor, data) :]
    finally:
        os.close(descriptor)
