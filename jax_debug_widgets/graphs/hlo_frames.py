"""Read the source lines in an optimized HLO module, from the tables of stack frames at its head."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

FileLine = tuple[str, int]
"""A file and a line of it."""

Frames = Mapping[int, tuple[FileLine, ...]]

_FIELD = re.compile(r"(\w+)=(\d+)")
_ROW = re.compile(r"(\d+) (.*)")


def frames_in(text: str) -> Frames:
    """Map numbers of frames to their line and those of their callers, innermost first; empty if there are no tables."""
    files = {number: row.strip('"') for number, row in _table(text, "FileNames")}
    places = {number: _fields(row) for number, row in _table(text, "FileLocations")}
    frames = {number: _fields(row) for number, row in _table(text, "StackFrames")}
    lines = {
        number: (files.get(place.get("file_name_id", 0), ""), place.get("line", 0)) for number, place in places.items()
    }
    parents = {number: one.get("parent_frame_id", 0) for number, one in frames.items()}
    # No frame is its own parent: this jaxlib writes the parent's number plus one.
    if any(parent == number for number, parent in parents.items()):
        parents = {number: parent - 1 for number, parent in parents.items()}
    found: dict[int, tuple[FileLine, ...]] = {}
    for number in sorted(frames):  # Callers have lower numbers.
        own = lines.get(frames[number].get("file_location_id", 0))
        found[number] = ((own,) if own else ()) + found.get(parents[number], ())
    return found


def _table(text: str, title: str) -> Iterator[tuple[int, str]]:
    begin = text.find(f"\n{title}\n")
    if begin < 0:
        return
    for row in text[begin + len(title) + 2 :].split("\n"):
        match = _ROW.fullmatch(row)
        if match is None:
            return
        yield int(match[1]), match[2]


def _fields(row: str) -> dict[str, int]:
    return {name: int(value) for name, value in _FIELD.findall(row)}
