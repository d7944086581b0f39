"""Define the layout of a run's folder, the names of its files, and the version of the format.

    run.jdw/
    run.json                        format, version, key, title, options, config; written once
        followed                        an empty file, see `FOLLOWED`
        p00000/                         the files of one process; no other process writes there
            process.json                the process: host, pid, start, size of the job; later also its clock
        sites.jsonl                 one line for each tap: its place in the source, and how to read its values
        sources.jsonl               one line for each source file
        stopped.json                reserved room: blanks, or why the recording has stopped, see `archive.reserved`
        state.json                  the latest status, notes, findings and so on; always replaced as a whole
        events/  watched/  arrays/  calls/  spans/
            part-FIRST-STOP.parquet sealed
            live-FIRST.arrow        an Arrow IPC stream: still being written, or left when its process ended
        overview/
            part-FIRST-STOP.parquet statistics of the numbers of these events, one row for some hundred events of a
                                    lane; only for long files
        inputs/
            call-CALL.parquet       the inputs of a call, see `archive.inputs`

FIRST and STOP are numbers of events; in calls/ and spans/ they are numbers of rows. CALL is the number of a call.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

VERSION = 1
"""The version of the format. Additions do not change it, because readers ignore what they do not know."""

FORMAT = "jax-debug-widgets run"

RUN, SITES, SOURCES, STATE = "run.json", "sites.jsonl", "sources.jsonl", "state.json"

WRITER, STOPPED = "process.json", "stopped.json"

INPUTS, OVERVIEW = "inputs", "overview"

FOLLOWED = "followed"
"""An empty file. A process that follows the run touches it; then the process that writes the run writes more often."""

EVENTS, WATCHED, ARRAYS, CALLS, SPANS = TABLES = ("events", "watched", "arrays", "calls", "spans")

PROCESS = re.compile(r"p(\d{5})")
PART = re.compile(r"part-(\d{12})-(\d{12})\.parquet")
LIVE = re.compile(r"live-(\d{12})\.arrow")
INPUT = re.compile(r"call-(\d{12})\.parquet")


class RunFileError(ValueError):
    """Raised for a folder or file that holds no readable run; the message says why."""


def refuse_zip(path: str) -> None:
    """Refuse the name of a zip file as the target of a recording: runs are recorded into folders.

    Raises:
      RunFileError: the path is the name of a zip file.
    """
    if path.lower().endswith(".zip"):
        raise RunFileError(
            f"a run is recorded into a folder, and {path} is the name of a zip file: record into {path[:-4]}; "
            f"jdw.load({path[:-4]!r}).save({path!r}) makes the zip file of it"
        )


def refuse_file(path: str) -> None:
    """Refuse an existing file as the target of a recording: runs are recorded into folders of their own.

    Raises:
      RunFileError: the path is an existing file, the name of a zip file, empty, or a folder without a name, such as `..`.
    """
    refuse_zip(path)
    if not path.strip() or Path(path).name in ("", "..", "~"):
        example = os.path.join(path.strip(), "run.jdw")
        raise RunFileError(
            f"a run is recorded into a folder of its own, which {path!r} does not name: write {example!r}"
        )
    if os.path.isfile(os.path.expanduser(path)):
        stem = os.path.splitext(path)[0]
        better = f"{stem}.jdw" if f"{stem}.jdw" != path else f"{stem}-2.jdw"
        raise RunFileError(f"a run is recorded into a folder, and {path} is a file that is there: record into {better}")


def stem_of(path: Path) -> str:
    """Return the name of a run's folder or file without `.zip` and `.jdw`."""
    return path.name.removesuffix(".zip").removesuffix(".jdw")


def part_name(first: int, stop: int) -> str:
    """Return the name of the sealed file with the rows `first .. stop - 1`."""
    return f"part-{first:012d}-{stop:012d}.parquet"


def live_name(first: int) -> str:
    """Return the name of the unsealed file with the rows from `first` on."""
    return f"live-{first:012d}.arrow"


def input_name(call: int) -> str:
    """Return the name of the file with the inputs of a call."""
    return f"call-{call:012d}.parquet"
