"""Write a table of a run's folder: append to an Arrow stream, and convert it to Parquet ("seal" it) now and then.

A batch is written whole. A sealed file is written beside the stream that it replaces. It gets its name when it is
complete; then the stream is removed. A reader that sees both finds the rows in the sealed file: its name says which
rows it has.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from jax_debug_widgets.archive.checksums import with_checksum
from jax_debug_widgets.archive.layout import ARRAYS, CALLS, INPUTS, OVERVIEW, SPANS, WATCHED, live_name, part_name
from jax_debug_widgets.archive.schemas import SCHEMAS

_WELL_PACKED = 500
"""A file with a larger ratio of unpacked to packed size is written again with less compression, because readers refuse files
that unpack to far more bytes. Arrays of zeros have such a ratio."""

_ROW_GROUP = 65_536
_GROUP_BYTES = 64 << 20
_ROW_GROUPS = {ARRAYS: 8, INPUTS: 8, OVERVIEW: 4096}
_DELTAS = ("seq", "time_ns", "occurrence", "execution", "ordinal", "step", "inner")
_FLATS = ("site", "tap", "call", "lane", "device")


class TableWriter:
    """Writes one table of one process.

    Attributes:
      first, stop: the range of rows in the unsealed file.
      nbytes: the size of that file in bytes.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder / name, name
        self._file: PrivateFile | None = None
        self._stream: pa.ipc.RecordBatchStreamWriter | None = None
        self.first = self.stop = 0
        self.nbytes = 0

    def append(self, batch: pa.RecordBatch, stop: int) -> None:
        """Append the rows before row `stop` to the unsealed file.

        The operating system has them when this returns: they survive the end of the process.
        """
        if self._file is None:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._file = PrivateFile(self._folder / live_name(self.first))
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self._stream = pa.ipc.new_stream(self._file, SCHEMAS[self._name], options=options)
        assert self._stream is not None
        self._stream.write_batch(batch, custom_metadata=with_checksum(batch))
        self.nbytes, self.stop = self._file.tell(), stop

    def sync(self) -> None:
        """Flush the file to disk, so that its rows survive a power failure."""
        if self._file is not None:
            os.fsync(self._file.fileno())

    def seal(self, stop: int, see: Callable[[pa.Table], object] = len) -> int:
        """Convert the rows `first .. stop - 1`, if there are any, to a Parquet file; return its size in bytes.

        The next row is `stop`. `see` is called with the rows, one table after the other.
        """
        first, has_rows, nbytes = self.first, self._file is not None, 0
        self.close()
        if has_rows:
            live, sealed = self._folder / live_name(first), self._folder / part_name(first, stop)
            _seal(sealed, self._name, live, see)
            nbytes = sealed.stat().st_size
            live.unlink()
        self.first = self.stop = stop
        return nbytes

    def close(self) -> None:
        """Close the unsealed file and leave it as it is."""
        file, self._file, self._stream, self.nbytes = self._file, None, None, 0
        if file is not None:
            file.close()


def write_part(path: Path, name: str, table: pa.Table) -> None:
    """Write a sealed file, which gets its name only when it is complete."""
    _write_part(path, name, lambda: iter([table]))


def _seal(path: Path, name: str, live: Path, see: Callable[[pa.Table], object]) -> None:
    """Write the rows of an Arrow stream to a sealed file."""
    with pa.memory_map(str(live)) as source:

        def read() -> Iterator[pa.Table]:
            source.seek(0)
            return _groups(pa.ipc.open_stream(source), at_once=_ROW_GROUP if name != WATCHED else None)

        _write_part(path, name, read, see)


def _groups(stream: pa.ipc.RecordBatchStreamReader, at_once: int | None) -> Iterator[pa.Table]:
    """Yield the rows of a stream in tables of about `at_once` rows, to limit memory; None: in one table."""
    batches: list[pa.RecordBatch] = []
    for batch in stream:
        batches.append(batch)
        is_much = sum(one.nbytes for one in batches) >= _GROUP_BYTES
        if at_once is not None and (is_much or sum(one.num_rows for one in batches) >= at_once):
            yield pa.Table.from_batches(batches)
            batches = []
    if batches:
        yield pa.Table.from_batches(batches)


def _write_part(
    path: Path, name: str, read: Callable[[], Iterator[pa.Table]], see: Callable[[pa.Table], object] = len
) -> None:
    """Write the rows that `read` gives to a sealed file.

    The file is written again with less compression if it packs so well that readers would refuse it.
    """
    options = _options(name, SCHEMAS[name])
    group = _ROW_GROUPS.get(name, _ROW_GROUP)
    with being_written(path) as part, PrivateFile(part) as file:
        for compression in (options.pop("compression"), "lz4"):
            nbytes = 0
            with parquet.ParquetWriter(file, SCHEMAS[name], compression=compression, **options) as writer:
                for rows in read():
                    see(rows)
                    writer.write_table(_sorted(name, rows), group)
                    nbytes += rows.nbytes
            if nbytes <= file.tell() * _WELL_PACKED:
                break
            see = len
            file.seek(0)
            file.truncate()
        os.fsync(file.fileno())


@contextmanager
def being_written(path: Path, beside: Path | None = None) -> Iterator[Path]:
    """Yield a temporary path to write to; at the end the complete file replaces the old one in one step.

    Args:
      path: the path of the file.
      beside: the folder of the temporary file, if other processes write a file with this path; by default that of
        `path`.
    """
    part = (beside or path.parent) / path.with_suffix(".tmp").name
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


class PrivateFile(FileIO):
    """A new file that only its owner can read.

    It does not buffer, so a forked process has nothing to write a second time.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600))

    def write(self, data: Any, /) -> int:
        """Write all of the data; a full disk accepts a part, and refuses the next write."""
        rest = view = memoryview(data).cast("B")
        while rest:
            rest = rest[super().write(rest) or 0 :]
        return len(view)


def _sorted(name: str, table: pa.Table) -> pa.Table:
    """Sort watched values by site, so that the series of one site is read in one go."""
    if name != WATCHED:
        return table
    order = np.lexsort((table["seq"].to_numpy(), table["site"].to_numpy()))
    return table.take(pa.array(order))


def _options(name: str, schema: pa.Schema) -> dict[str, Any]:
    encoded = {} if name in (ARRAYS, CALLS, SPANS, INPUTS, OVERVIEW) else dict.fromkeys(_DELTAS, "DELTA_BINARY_PACKED")
    return {
        "compression": "none" if name == INPUTS else "zstd",
        "use_dictionary": [one for one in (*_FLATS, "dtype", "name", "thread") if one in schema.names],
        "column_encoding": encoded or None,
        "write_page_checksum": True,
    }
