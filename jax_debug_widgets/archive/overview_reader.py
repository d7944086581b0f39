"""Read the overview of a run: its sites and the history of their numbers, without reading its events."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import compute, parquet

from jax_debug_widgets.archive.columns import fitted
from jax_debug_widgets.archive.files import Files, files_at
from jax_debug_widgets.archive.json_files import read_lines
from jax_debug_widgets.archive.layout import ARRAYS, EVENTS, OVERVIEW, SITES, WATCHED, RunFileError, part_name
from jax_debug_widgets.archive.overview import Overview
from jax_debug_widgets.archive.reader import processes_at
from jax_debug_widgets.archive.row_ranges import OPEN, RowRange, TableReader, stretches_of
from jax_debug_widgets.archive.schemas import SCHEMAS
from jax_debug_widgets.archive.taps import read_tap
from jax_debug_widgets.events import CallSite, Tap


class OverviewReader:
    """Reads the overview of the events that one process has written.

    Attributes:
      taps: how to read the values, by line of sites.jsonl.
    """

    def __init__(self, path: Path, process: int | None = None) -> None:
        """Read the sites of process number `process`; None stands for the first process that has written anything.

        Raises:
          RunFileError: there is no such run, or it is damaged.
        """
        process = processes_at(path)[0] if process is None else process
        self._files, self._own = files_at(path), f"p{process:05d}"
        lines, damages = read_lines(self._files, f"{self._own}/{SITES}", 0, is_over=False)
        if damages:
            raise RunFileError(damages[0])
        self.taps: dict[int, Tap] = {}
        for place, line in lines:
            tap = read_tap(line)
            self.taps[line.get("number", place)] = replace(tap, site=replace(tap.site, process=process))

    def sites(self) -> list[CallSite]:
        """Return the sites that have fired, ordered by first event; for a site with several types the newest."""
        return [*{tap.site.id: tap.site for tap in self.taps.values()}.values()]

    def devices(self) -> list[str] | None:
        """Return the names of the devices, indexed by the device numbers of events; None if that is not clear."""
        meshes = [np.asarray(tap.nesting.devices).ravel().tolist() for tap in self.taps.values() if tap.nesting.devices]
        return None if any(mesh != meshes[0] for mesh in meshes) else list(dict.fromkeys(meshes[0])) if meshes else []

    def read(self, sites: Collection[int], before: int = OPEN) -> dict[str, np.ndarray]:
        """Read the rows for these sites that begin before event `before`, ordered by event, as column -> array.

        Raises:
          RunFileError: a file is damaged or missing.
        """
        overview, wanted = Overview(), pa.array([*sites], pa.int64())
        tables, behind = [SCHEMAS[OVERVIEW].empty_table()], []
        stretches = [
            one for one in stretches_of(self._files, self._own, (EVENTS, WATCHED, ARRAYS)) if one.first < before
        ]
        if any(one.first != other.stop for other, one in pairwise(stretches)):
            raise RunFileError("some of its files are missing")
        there = self._files.names(f"{self._own}/{OVERVIEW}")
        for stretch in stretches:
            if part_name(*stretch) in there:
                rows = _of_sites(self._files, f"{self._own}/{OVERVIEW}/{part_name(*stretch)}", wanted)
                behind.append(rows)
            else:
                for one in behind:
                    overview.resume(one)
                rows, behind = self._made(overview, stretch, wanted), []
            tables.append(rows)
        rows = pa.concat_tables(tables).sort_by("first_seq")
        rows = rows.filter(compute.less(rows["first_seq"], before))  # pyright: ignore[reportAttributeAccessIssue]
        return {name: rows[name].to_numpy() for name in rows.column_names}

    def _made(self, overview: Overview, stretch: RowRange, wanted: pa.Array) -> pa.Table:
        """Make the overview's rows for events without an overview: of old or short files, and of unsealed ones."""
        found = []
        for name in (EVENTS, WATCHED):
            problems: list[str] = []
            events = TableReader().stretch(self._files, self._own, name, stretch, problems)
            if problems:
                raise RunFileError(problems[0])
            events = events.filter(compute.is_in(events["site"], wanted))  # pyright: ignore[reportAttributeAccessIssue]
            events = events.filter(pa.array(np.isin(events["tap"].to_numpy(), [*self.taps])))
            found.append(overview.of(events, self.taps))
        return pa.concat_tables(found)


def _of_sites(files: Files, path: str, wanted: pa.Array) -> pa.Table:
    """Read the overview's rows for these sites, skipping the row groups that have none."""
    schema = SCHEMAS[OVERVIEW]
    try:
        file = parquet.ParquetFile(files.source(path), page_checksum_verification=True)
        metadata, at = file.metadata, file.schema_arrow.get_field_index("site")
        ranges = [metadata.row_group(group).column(at).statistics for group in range(metadata.num_row_groups)]
        ids = wanted.to_numpy()
        groups = [
            group
            for group, range_ in enumerate(ranges)
            if range_ is None or not range_.has_min_max or ((ids >= range_.min) & (ids <= range_.max)).any()
        ]
        rows = file.read_row_groups(groups) if groups else schema.empty_table()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise RunFileError(f"{path} cannot be read: {error}") from None
    rows = fitted(rows, schema, path)
    return rows.filter(compute.is_in(rows["site"], wanted))  # pyright: ignore[reportAttributeAccessIssue]
