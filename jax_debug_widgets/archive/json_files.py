"""Read the JSON files of a run. Their texts are checked by whoever takes them."""

from __future__ import annotations

import json
from typing import Any

from jax_debug_widgets.archive.files import Files, VanishedError
from jax_debug_widgets.archive.layout import RunFileError


def read_json(files: Files, name: str) -> dict[str, Any] | None:
    """The JSON object that a file has; None where there is no file.

    Raises:
      RunFileError: it has something else.
    """
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


def read_last_state(files: Files, name: str, problems: list[str]) -> dict[str, Any]:
    """The same of a file that others do without: where it is damaged there is nothing, and a problem."""
    try:
        return read_json(files, name) or {}
    except VanishedError:
        raise
    except RunFileError as error:
        problems.append(f"What the run said of itself is lost: {error}")
        return {}


def read_lines(files: Files, name: str, first: int = 0) -> tuple[list[tuple[int, dict[str, Any]]], list[str]]:
    """The JSON objects of a file, one a line, each with its place, from `first` on; and which cannot be read.

    The last line may be torn.
    """
    found: list[tuple[int, dict[str, Any]]] = []
    problems: list[str] = []
    for place, line in enumerate((files.text(name) or "").split("\n")[:-1]):
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
            problems.append(f"Line {place + 1} of {name} is no JSON object.")
    return found, problems
