"""Find which files hold which rows, and read them: from sealed files and from those still being written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
from pyarrow import parquet

from jax_debug_widgets.archive.checksums import is_as_written
from jax_debug_widgets.archive.files import Files, VanishedError
from jax_debug_widgets.archive.layout import LIVE, PART, RunFileError, live_name, part_name
from jax_debug_widgets.archive.schemas import LATER, SCHEMAS
from jax_debug_widgets.events.amounts import in_bytes
from jax_debug_widgets.events.errors import error_line

OPEN = 1 << 62
"""The end of the range of a file that is not sealed."""

_MOST_UNPACKED = 1000
"""The largest ratio of unpacked to packed size that is accepted for a sealed file."""


class RowRange(NamedTuple):
    """A range of rows, `first .. stop - 1`, which each table stores in one file."""

    first: int
    stop: int


def stretches_of(files: Files, own: str, names: Sequence[str]) -> list[RowRange]:
    """Return the ranges of rows in the files of tables that are sealed together.

    If a process ends while it seals, some tables have these rows in a sealed file, and others in the unsealed one, or
    in both.
    """
    there = [one for name in names for one in files.names(f"{own}/{name}")]
    sealed = {RowRange(int(found[1]), int(found[2])) for one in there if (found := PART.fullmatch(one))}
    end = max((stretch.stop for stretch in sealed), default=0)
    live = {RowRange(int(found[1]), OPEN) for one in there if (found := LIVE.fullmatch(one)) and int(found[1]) >= end}
    return sorted(sealed | live)


def is_sealed(files: Files, own: str, names: Sequence[str]) -> bool:
    """Return whether the tables have rows and no unsealed file."""
    stretches = [stretch for name in names for stretch in stretches_of(files, own, [name])]
    return bool(stretches) and all(stretch.stop != OPEN for stretch in stretches)


def read_stretch(files: Files, own: str, name: str, stretch: RowRange, problems: list[str]) -> pa.Table:
    """Read the rows of a table in a range; the result is empty if there are none.

    Raises:
      VanishedError: the rows have been sealed since the range was looked up.
    """
    there, schema = files.names(f"{own}/{name}"), SCHEMAS[name]
    sealed, live = part_name(*stretch), live_name(stretch.first)
    if sealed in there:
        return read_sealed(files, f"{own}/{name}/{sealed}", schema, problems)
    if live not in there:
        if stretch.stop == OPEN and any(
            found and int(found[1]) == stretch.first for found in map(PART.fullmatch, there)
        ):
            raise VanishedError(f"{own}/{name}/{live} has been sealed")
        return schema.empty_table()
    rows = _live(files, f"{own}/{name}/{live}", schema, problems)
    return rows.filter(pa.array(rows["seq"].to_numpy() < stretch.stop)) if "seq" in schema.names else rows


def read_table(files: Files, own: str, name: str, problems: list[str]) -> pa.Table:
    """Read all rows of a table."""
    stretches = stretches_of(files, own, [name])
    tables = [read_stretch(files, own, name, stretch, problems) for stretch in stretches]
    return pa.concat_tables([SCHEMAS[name].empty_table(), *tables])


def read_sealed(files: Files, path: str, schema: pa.Schema, problems: list[str]) -> pa.Table:
    """Read the rows of a sealed file; if it is damaged, those that can be read, and add a problem."""
    source = files.source(path)
    size = source.size()
    try:
        file = parquet.ParquetFile(source, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        problems.append(f"{path} is damaged, none of its rows can be read: {error_line(error)}")
        return schema.empty_table()
    told = file.metadata
    unpacked = sum(told.row_group(group).total_byte_size for group in range(told.num_row_groups))
    if unpacked > size * _MOST_UNPACKED or told.num_rows > size * _MOST_UNPACKED:
        raise RunFileError(f"{path} says that it becomes {in_bytes(unpacked)}; it has {size} bytes")
    try:
        return fitted(file.read(), schema, path)
    except RunFileError as error:  # The column names are in the file's footer, which has no checksum.
        problems.append(f"{error}: none of its rows can be read.")
        return schema.empty_table()
    except (pa.ArrowException, OSError):
        groups = [group for group in range(told.num_row_groups) if _can_be_read(file, group)]
    rows = fitted(file.read_row_groups(groups), schema, path) if groups else schema.empty_table()
    problems.append(f"{path} is damaged: {told.num_rows - len(rows)} of its {told.num_rows} rows cannot be read.")
    return rows


def _can_be_read(file: parquet.ParquetFile, group: int) -> bool:
    try:
        file.read_row_group(group)
    except (pa.ArrowException, OSError):
        return False
    return True


def _live(files: Files, path: str, schema: pa.Schema, problems: list[str]) -> pa.Table:
    """Read all complete batches of a stream that another process may still write to."""
    batches: list[pa.RecordBatch] = []
    found = schema
    with files.source(path) as source:
        try:
            # Unpacking small columns takes less time than waking threads.
            reader = pa.ipc.open_stream(source, options=pa.ipc.IpcReadOptions(use_threads=False))
            found = reader.schema
            while True:
                batch, metadata = reader.read_next_batch_with_custom_metadata()
                batch.validate(full=True)
                if not is_as_written(batch, metadata):
                    problems.append(
                        f"A batch of {path} has changed since it was written; it and all batches after it are left out."
                    )
                    break
                batches.append(batch)
        except (StopIteration, pa.ArrowException, OSError, EOFError):
            pass
    if not batches:
        return schema.empty_table()
    return fitted(pa.Table.from_batches(batches, found), schema, path)


def fitted(table: pa.Table, schema: pa.Schema, path: str) -> pa.Table:
    """Return the columns of the schema, in its order; columns that older files lack are null.

    Raises:
      RunFileError: a column is missing, or has another type.
    """
    try:
        table.validate(full=True)
        for field in schema:
            if field.name in LATER and field.name not in table.column_names:
                table = table.append_column(field, pa.nulls(len(table), field.type))
        return table.select(schema.names).cast(schema)
    except (KeyError, pa.ArrowException) as error:
        raise RunFileError(f"{path} does not have the columns of its table: {error}") from None
