"""Read the folder of a run. It is looked upon as a stranger's: nothing in it is executed, and all of it is checked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from jax_debug_widgets.archive.checksums import is_as_written
from jax_debug_widgets.archive.files import Files, files_at
from jax_debug_widgets.archive.firings import Arrays, Rows
from jax_debug_widgets.archive.layout import (
    ARRAYS,
    CALLS,
    EVENTS,
    FORMAT,
    LIVE,
    PART,
    PROCESS,
    RUN,
    SITES,
    SOURCES,
    SPANS,
    STATE,
    VERSION,
    WATCHED,
    RunFileError,
    live_name,
    part_name,
)
from jax_debug_widgets.archive.plain import from_plain
from jax_debug_widgets.archive.schemas import SCHEMAS
from jax_debug_widgets.archive.taps import read_tap
from jax_debug_widgets.events import Call, Tap, ThreadSpans
from jax_debug_widgets.store import Budget, Store

_MOST_UNPACKED = 1000
"""Bytes that a byte of a sealed file may become."""


@dataclass
class SavedRun:
    """What one process has written of a run.

    Attributes:
      about: what was known of the run when it began, see `RunWriter`.
      state: what it said of itself last.
      store: its events.
      calls: its calls, as they were last, in the order in which they began.
      spans: what its threads were at.
      sources: file -> its text, with the names in it.
      problems: what could not be read, in sentences.
    """

    about: dict[str, Any]
    state: dict[str, Any]
    store: Store
    calls: list[Call]
    spans: ThreadSpans
    sources: dict[str, dict[str, Any]]
    problems: list[str] = field(default_factory=list)


def about_run(path: Path) -> dict[str, Any]:
    """What is known of the run at this path without reading its events.

    Raises:
      RunFileError: there is none, or a newer version of the package has written it.
    """
    return _about(files_at(path), path)


def read_state(path: Path) -> dict[str, Any]:
    """What the run at this path said of itself last.

    Raises:
      RunFileError: see `about_run`.
    """
    files = files_at(path)
    return _json(files, f"{_process(files, path)}/{STATE}") or {}


def read_run(path: Path, budget: Budget) -> SavedRun:
    """The run at this path, as much of it as the budget holds, the newest.

    Raises:
      RunFileError: there is none, a newer version of the package has written it, or it contradicts itself.
    """
    files = files_at(path)
    about = _about(files, path)
    own = _process(files, path)
    problems: list[str] = []
    state = _json(files, f"{own}/{STATE}") or {}
    taps = [read_tap(line) for line in _lines(files, f"{own}/{SITES}")]
    store = Store(budget, 0)
    try:
        _read_events(files, own, taps, state, store, problems)
        calls = _calls(_table(files, own, CALLS, problems))
        spans = _spans(_table(files, own, SPANS, problems))
    except (pa.ArrowException, OSError) as error:
        raise RunFileError(f"{path} cannot be read: {error}") from None
    sources = {str(line["file"]): line for line in _lines(files, f"{own}/{SOURCES}") if "file" in line}
    return SavedRun(about, state, store, calls, spans, sources, problems)


def _about(files: Files, path: Path) -> dict[str, Any]:
    about = _json(files, RUN) or {}
    if about.get("format") != FORMAT:
        raise RunFileError(f"{path} holds no run: its {RUN} says so of something else")
    version = about.get("version")
    if type(version) is not int or version < 1:
        raise RunFileError(f"{path} is of the version {version!r:.80}, and there is no such one")
    if version > VERSION:
        writer = about.get("writer", "a newer version")
        raise RunFileError(
            f"{path} was written by jax-debug-widgets {writer!s:.40}, in a newer format ({version}) than this one reads "
            f"({VERSION}): upgrade jax-debug-widgets"
        )
    return about


def _process(files: Files, path: Path) -> str:
    found = [name for name in files.names("") if PROCESS.fullmatch(name)]
    if not found:
        raise RunFileError(f"{path} holds nothing of any process")
    return found[0]


def _json(files: Files, name: str) -> dict[str, Any] | None:
    text = files.text(name)
    if text is None:
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RunFileError(f"{name} cannot be read: {error}") from None
    if not isinstance(data, dict):
        raise RunFileError(f"{name} is no JSON object")
    return data


def _lines(files: Files, name: str) -> list[dict[str, Any]]:
    """The JSON objects of a file, one a line; the last line may be torn."""
    found: list[dict[str, Any]] = []
    for line in (files.text(name) or "").split("\n")[:-1]:
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise RunFileError(f"line {len(found) + 1} of {name} cannot be read: {error}") from None
        if not isinstance(data, dict):
            raise RunFileError(f"line {len(found) + 1} of {name} is no JSON object")
        found.append(data)
    return found


def _read_events(
    files: Files, own: str, taps: list[Tap], state: dict[str, Any], store: Store, problems: list[str]
) -> None:
    stretches = sorted({stretch for name in (EVENTS, WATCHED, ARRAYS) for stretch in _stretches(files, own, name)})
    dropped = _counts(state.get("dropped", {}))
    store.begin_at(stretches[0][0] if stretches else _first(state), dropped)
    for first, stop in stretches:
        tables = {name: _stretch(files, own, name, first, stop, problems) for name in (EVENTS, WATCHED, ARRAYS)}
        rows = Rows(pa.concat_tables([tables[EVENTS], tables[WATCHED]]), taps)
        firings = rows.firings(first, Arrays(tables[ARRAYS])) if first == len(store) else None
        if firings is not None:
            store.restore(firings.lot, firings.calls, firings.executions, firings.occurrences, firings.ordinals)
        is_short = stop not in (_OPEN, len(store))
        if is_short or len(rows.seq) > (firings.events if firings else 0):
            problems.append(f"The file is not whole: of what came after event {len(store) - 1} nothing is shown.")
            return


def _first(state: dict[str, Any]) -> int:
    first = state.get("first")
    return first if type(first) is int and first >= 0 else 0


def _counts(data: Any) -> dict[int, int]:
    try:
        return {int(site): int(count) for site, count in data.items()}
    except (AttributeError, TypeError, ValueError):
        raise RunFileError(f"{data!r:.80} are no counts of events by site") from None


_OPEN = 1 << 62
"""Where a file that is being written ends."""


def _stretches(files: Files, own: str, name: str) -> Iterator[tuple[int, int]]:
    """The rows that each file of a table has; a live one whose rows are in a sealed one already is passed over."""
    names = files.names(f"{own}/{name}")
    sealed = [(int(found[1]), int(found[2])) for one in names if (found := PART.fullmatch(one))]
    live = [int(found[1]) for one in names if (found := LIVE.fullmatch(one))]
    yield from sealed
    end = max((stop for _, stop in sealed), default=0)
    yield from ((first, _OPEN) for first in live if first >= end and first not in dict(sealed))


def _stretch(files: Files, own: str, name: str, first: int, stop: int, problems: list[str]) -> pa.Table:
    """One file of a table; empty where it has none."""
    there = files.names(f"{own}/{name}")
    if part_name(first, stop) in there and stop != _OPEN:
        return _sealed(files, f"{own}/{name}/{part_name(first, stop)}", SCHEMAS[name])
    if live_name(first) in there and stop == _OPEN:
        return _live(files, f"{own}/{name}/{live_name(first)}", SCHEMAS[name], problems)
    return SCHEMAS[name].empty_table()


def _table(files: Files, own: str, name: str, problems: list[str]) -> pa.Table:
    stretches = sorted(_stretches(files, own, name))
    tables = [_stretch(files, own, name, first, stop, problems) for first, stop in stretches]
    return pa.concat_tables([SCHEMAS[name].empty_table(), *tables])


def _sealed(files: Files, path: str, schema: pa.Schema) -> pa.Table:
    source = files.source(path)
    size = source.size()
    file = parquet.ParquetFile(source, page_checksum_verification=True)
    told = file.metadata
    unpacked = sum(told.row_group(group).total_byte_size for group in range(told.num_row_groups))
    if unpacked > size * _MOST_UNPACKED or told.num_rows > size * _MOST_UNPACKED:
        raise RunFileError(f"{path} says that it becomes {unpacked >> 20} MiB; it has {size} bytes")
    return _fitted(file.read(), schema, path)


def _live(files: Files, path: str, schema: pa.Schema, problems: list[str]) -> pa.Table:
    """All batches of a stream that are complete; whoever writes it may be at it."""
    batches: list[pa.RecordBatch] = []
    found = schema
    with files.source(path) as source:
        try:
            reader = pa.ipc.open_stream(source)
            found = reader.schema
            while True:
                batch, metadata = reader.read_next_batch_with_custom_metadata()
                batch.validate(full=True)
                if not is_as_written(batch, metadata):
                    problems.append(f"A batch of {path} is not as it was written; it is left out, with all after it.")
                    break
                batches.append(batch)
        except (StopIteration, pa.ArrowException, OSError, EOFError):
            pass
    if not batches:
        return schema.empty_table()
    return _fitted(pa.Table.from_batches(batches, found), schema, path)


def _fitted(table: pa.Table, schema: pa.Schema, path: str) -> pa.Table:
    """The columns that are known, in their order.

    Raises:
      RunFileError: one of them is missing, or of another type.
    """
    try:
        table.validate(full=True)
        return table.select(schema.names).cast(schema)
    except (KeyError, pa.ArrowException) as error:
        raise RunFileError(f"{path} has not the columns of its table: {error}") from None


def _calls(table: pa.Table) -> list[Call]:
    newest = {row["id"]: row for row in table.to_pylist()}
    return [from_plain(Call, row) for _, row in sorted(newest.items())]


def _spans(table: pa.Table) -> ThreadSpans:
    encoded = table["thread"].combine_chunks().dictionary_encode()
    site, from_ns, to_ns = (table[name].to_numpy() for name in ("site", "from_ns", "to_ns"))
    if encoded.null_count:
        raise RunFileError("a span has no thread")
    thread = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return ThreadSpans(0, tuple(map(str, encoded.dictionary.to_pylist())), site, thread, from_ns, to_ns)
