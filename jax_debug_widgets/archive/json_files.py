"""Read the JSON files of a run; the callers check the content."""

from __future__ import annotations

import json
from typing import Any

from jax_debug_widgets.archive.files import Files, VanishedError
from jax_debug_widgets.archive.layout import RunFileError


def read_json(files: Files, name: str) -> dict[str, Any] | None:
    """Read the JSON object in a file; return None if there is no file.

    Raises:
      RunFileError: the file does not hold a JSON object.
    """
    text = files.text(name)
    if text is None:
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RunFileError(f"{name} cannot be read: {error}") from None
    if not isinstance(data, dict):
        raise RunFileError(f"{name} is not a JSON object")
    return data


def read_last_state(files: Files, name: str, problems: list[str]) -> dict[str, Any]:
    """Read a JSON file that is not essential: if it is damaged, return an empty dict and add a problem."""
    try:
        return read_json(files, name) or {}
    except VanishedError:
        raise
    except RunFileError as error:
        problems.append(f"The status of the run cannot be read: {error}")
        return {}


def read_lines(
    files: Files, name: str, first: int = 0, *, is_over: bool = False
) -> tuple[list[tuple[int, dict[str, Any]]], list[str]]:
    """Read a file with one JSON object on each line, from line `first` on.

    If `is_over`, nobody writes the file any more, and an incomplete last line is a problem; else it is ignored.

    Returns:
      The objects, each with the number of its line from 0, and a sentence for each line that cannot be read.
    """
    found: list[tuple[int, dict[str, Any]]] = []
    *whole, last = (files.text(name) or "").split("\n")
    problems = [f"Line {len(whole) + 1} of {name}, the last, is incomplete."] if last and is_over else []
    for place, line in enumerate(whole):
        if place < first:
            continue
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as error:
            problems.append(f"Line {place + 1} of {name} cannot be read: {error}")
            continue
        if isinstance(data, dict):
            found.append((place, data))
        else:
            problems.append(f"Line {place + 1} of {name} is not a JSON object.")
    return found, problems


def read_sources(files: Files, name: str, *, is_over: bool) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Read the texts of the source files; return them by file name, and a sentence for each unreadable line."""
    lines, problems = read_lines(files, name, is_over=is_over)
    found = {}
    for place, line in lines:
        text = line.get("lines")
        if isinstance(line.get("file"), str) and isinstance(text, list) and all(isinstance(one, str) for one in text):
            found[line["file"]] = line
        else:
            problems.append(f"Line {place + 1} of {name} holds no file of source.")
    return found, problems
