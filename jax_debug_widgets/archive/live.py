"""Read the streams that another process still writes: each time only the batches that were appended since."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from jax_debug_widgets.archive.checksums import is_as_written
from jax_debug_widgets.archive.columns import fitted
from jax_debug_widgets.archive.files import Files

_MOST_CHUNKS = 64
"""The most chunks of a table. Every chunk makes each access to the table slower."""


@dataclass
class _Stream:
    """The part of a stream that was read.

    Attributes:
      rows: its rows, without those that were forgotten.
      head: its first message, which has the schema.
      end: the position in the file at which the next batch begins.
    """

    rows: pa.Table
    head: bytes = b""
    end: int = 0


@dataclass
class LiveStreams:
    """Reads the unsealed files of a run. It keeps their rows until they are forgotten."""

    _streams: dict[str, _Stream] = field(default_factory=dict)

    def read(self, files: Files, path: str, schema: pa.Schema, problems: list[str]) -> pa.Table:
        """Return the rows of all complete batches, except those that were forgotten; add a problem if one has changed.

        Raises:
          RunFileError: a column is missing, or has another type.
          VanishedError: the file no longer exists.
        """
        with files.source(path) as source:
            stream = self._streams.get(path)
            if stream is None or source.size() < stream.end:  # A shorter file was damaged in the meantime.
                stream = self._streams[path] = _Stream(schema.empty_table())
            data = source.read_at(source.size() - stream.end, stream.end)
        batches, nbytes = _next_batches(stream, data, path, problems)
        if batches:
            new = fitted(pa.Table.from_batches(batches), schema, path)
            rows = pa.concat_tables([stream.rows, new])
            stream.rows = rows.combine_chunks() if rows.column(0).num_chunks > _MOST_CHUNKS else rows
            stream.end += nbytes
        return stream.rows

    def drop(self, path: str) -> None:
        """Drop the rows of a file that has been sealed."""
        self._streams.pop(path, None)

    def forget(self, before: int) -> None:
        """Forget the events before event `before`, and their values."""
        for stream in self._streams.values():
            if "seq" in stream.rows.column_names:
                stream.rows = stream.rows.filter(pa.array(stream.rows["seq"].to_numpy() >= before))


def _next_batches(stream: _Stream, data: bytes, path: str, problems: list[str]) -> tuple[list[pa.RecordBatch], int]:
    """Return the complete batches in `data`, the bytes of the file from `stream.end` on, and the number of their bytes.

    A batch with a wrong checksum is not returned, and nothing after it is read; the next call begins with it again.
    """
    source, batches, begin, end, is_changed = pa.BufferReader(stream.head + data), [], 0, 0, False
    try:
        # Unpacking small columns takes less time than waking threads.
        reader = pa.ipc.open_stream(source, options=pa.ipc.IpcReadOptions(use_threads=False))
        begin = end = source.tell()
        if not stream.head:
            stream.head, stream.end = data[:begin], begin
        while True:
            batch, metadata = reader.read_next_batch_with_custom_metadata()
            batch.validate(full=True)
            if is_changed := not is_as_written(batch, metadata):
                break
            batches.append(batch)
            end = source.tell()
    except StopIteration:
        pass
    except (pa.ArrowException, OSError, EOFError):
        is_changed = _is_there(source, end)
    if is_changed:
        problems.append(
            f"A batch of {path} has changed since it was written; it and all batches after it are left out."
        )
    return batches, end - begin


def _is_there(source: pa.BufferReader, begin: int) -> bool:
    """Return whether the message that begins there is complete; else it is still being written, or never was."""
    source.seek(begin)
    try:
        pa.ipc.read_message(source)
    except (pa.ArrowException, OSError, EOFError):
        return False
    return True
