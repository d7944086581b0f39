"""Find which files hold which rows, and read them: from sealed files and from those still being written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
from pyarrow import parquet

from jax_debug_widgets.archive.columns import fitted
from jax_debug_widgets.archive.files import Files, VanishedError
from jax_debug_widgets.archive.layout import LIVE, PART, RunFileError, live_name, part_name
from jax_debug_widgets.archive.live import LiveStreams
from jax_debug_widgets.archive.schemas import SCHEMAS
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


class TableReader:
    """Reads the tables of one process. Reading again reads only what was added since."""

    def __init__(self) -> None:
        self._live = LiveStreams()
        self._sealed: dict[tuple[str, RowRange], tuple[pa.Table, list[str]]] = {}
        """Table and range -> the rows of a sealed file, and what is wrong with the file."""

    def stretch(self, files: Files, own: str, name: str, stretch: RowRange, problems: list[str]) -> pa.Table:
        """Read the rows of a table in a range, except those that were forgotten; the result is empty if there are none.

        Raises:
          VanishedError: the rows have been sealed since the range was looked up.
        """
        there, schema = files.names(f"{own}/{name}"), SCHEMAS[name]
        sealed, live = part_name(*stretch), live_name(stretch.first)
        if sealed in there:
            self._live.drop(f"{own}/{name}/{live}")
            return read_sealed(files, f"{own}/{name}/{sealed}", schema, problems)
        if live not in there:
            if stretch.stop == OPEN and any(
                found and int(found[1]) == stretch.first for found in map(PART.fullmatch, there)
            ):
                raise VanishedError(f"{own}/{name}/{live} has been sealed")
            return schema.empty_table()
        rows = self._live.read(files, f"{own}/{name}/{live}", schema, problems)
        return rows.filter(pa.array(rows["seq"].to_numpy() < stretch.stop)) if "seq" in schema.names else rows

    def forget(self, before: int) -> None:
        """Forget the unsealed events before event `before`."""
        self._live.forget(before)

    def table(self, files: Files, own: str, name: str, problems: list[str]) -> pa.Table:
        """Read all rows of a table."""
        stretches = stretches_of(files, own, [name])
        goes_on = bool(stretches) and stretches[-1].stop == OPEN
        tables = [SCHEMAS[name].empty_table()]
        for stretch in stretches:
            found = self._sealed.get((name, stretch))
            if found is None:
                damages: list[str] = []
                found = self.stretch(files, own, name, stretch, damages), damages
                if goes_on and stretch.stop != OPEN:  # A sealed file does not change, and will be requested again.
                    self._sealed[name, stretch] = found
            tables.append(found[0])
            problems += found[1]
        return pa.concat_tables(tables)


def read_sealed(files: Files, path: str, schema: pa.Schema, problems: list[str]) -> pa.Table:
    """Read the rows of a sealed file; if it is damaged, those that can be read, and add a problem."""
    source = files.source(path)
    size = source.size()
    try:
        file = parquet.ParquetFile(source, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        problems.append(f"{path} is damaged, none of its rows can be read: {error_line(error)}")
        return schema.empty_table()
    metadata = file.metadata
    unpacked = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    if unpacked > size * _MOST_UNPACKED or metadata.num_rows > size * _MOST_UNPACKED:
        raise RunFileError(f"{path} says that it becomes {in_bytes(unpacked)}; it has {size} bytes")
    try:
        return fitted(file.read(), schema, path)
    except RunFileError as error:  # The column names are in the file's footer, which has no checksum.
        problems.append(f"{error}: none of its rows can be read.")
        return schema.empty_table()
    except (pa.ArrowException, OSError):
        groups = [group for group in range(metadata.num_row_groups) if _can_be_read(file, group)]
    rows = fitted(file.read_row_groups(groups), schema, path) if groups else schema.empty_table()
    problems.append(
        f"{path} is damaged: {metadata.num_rows - len(rows)} of its {metadata.num_rows} rows cannot be read."
    )
    return rows


def _can_be_read(file: parquet.ParquetFile, group: int) -> bool:
    try:
        file.read_row_group(group)
    except (pa.ArrowException, OSError):
        return False
    return True
