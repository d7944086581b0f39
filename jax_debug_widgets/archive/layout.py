"""Where what stands in the folder of a run, and the version of its format.

run.jdw/
run.json                  format, version, key, title, options, config; written once
p00000/                   what one process has written; nobody else writes there
sites.jsonl             a line a tap: the place in the source, and how to read its values
sources.jsonl           a line a file of source
state.json              status, notes, findings and the like as they were last; replaced as a whole
events/  watched/  arrays/  calls/  spans/
part-FIRST-STOP.parquet    sealed
live-FIRST.arrow           an Arrow IPC stream that is being written, or was when the process ended
overview/
part-FIRST-STOP.parquet    what the numbers of these events were, some hundred executions in a row; only for long files
inputs/
call-CALL.parquet          what a call was given, see `archive.inputs`
"""

from __future__ import annotations

import os
import re
from pathlib import Path

VERSION = 1
"""The version of the format. An addition leaves it as it is: readers pass over what they do not know."""

FORMAT = "jax-debug-widgets run"

RUN, SITES, SOURCES, STATE = "run.json", "sites.jsonl", "sources.jsonl", "state.json"

WRITER = "process.json"

INPUTS, OVERVIEW = "inputs", "overview"

FOLLOWED = "followed"
"""An empty file that who follows a run touches: whoever writes the run then writes more often."""

EVENTS, WATCHED, ARRAYS, CALLS, SPANS = TABLES = ("events", "watched", "arrays", "calls", "spans")

PROCESS = re.compile(r"p(\d{5})")
PART = re.compile(r"part-(\d{12})-(\d{12})\.parquet")
LIVE = re.compile(r"live-(\d{12})\.arrow")
INPUT = re.compile(r"call-(\d{12})\.parquet")


class RunFileError(ValueError):
    """A folder or file that holds no run that can be read; the message says why."""


def refuse_zip(path: str) -> None:
    """A run is recorded into a folder; a zip file is made of one that is over.

    Raises:
      RunFileError: the path is that of a zip file.
    """
    if path.lower().endswith(".zip"):
        raise RunFileError(
            f"a run is recorded into a folder, and {path} is the name of a zip file: record into {path[:-4]}; "
            f"jdw.load({path[:-4]!r}).save({path!r}) makes the zip file of it"
        )


def refuse_file(path: str) -> None:
    """A run is recorded into a folder, and not over a file that is there.

    Raises:
      RunFileError: the path is that of a file, or of a zip file.
    """
    refuse_zip(path)
    if os.path.isfile(os.path.expanduser(path)):
        stem = os.path.splitext(path)[0]
        better = f"{stem}.jdw" if f"{stem}.jdw" != path else f"{stem}-2.jdw"
        raise RunFileError(f"a run is recorded into a folder, and {path} is a file that is there: record into {better}")


def stem_of(path: Path) -> str:
    """The name of a file of a run, without what says that it is one."""
    return path.name.removesuffix(".zip").removesuffix(".jdw")


def part_name(first: int, stop: int) -> str:
    """The name of a sealed file that holds rows `first .. stop - 1`."""
    return f"part-{first:012d}-{stop:012d}.parquet"


def live_name(first: int) -> str:
    """The name of a file that is being written, from row `first` on."""
    return f"live-{first:012d}.arrow"


def input_name(call: int) -> str:
    """The name of the file of what a call was given."""
    return f"call-{call:012d}.parquet"
