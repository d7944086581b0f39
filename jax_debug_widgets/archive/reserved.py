"""Reserve room on the disk for the reason why a recording stops, so that readers get it also when the disk is full."""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any

from jax_debug_widgets.archive.files import Files
from jax_debug_widgets.archive.layout import RunFileError

_BYTES = 4096
"""The size of the reserved file: a block of most file systems."""

_MOST_CHARACTERS = 500
"""The longest reason; as JSON it fits into the file, whatever the characters are."""


class ReservedNote:
    """A file of blanks, written when a recording begins. The reason is written over them in place, which takes no room."""

    def __init__(self, path: Path) -> None:
        """Reserve the room.

        Raises:
          OSError: the file cannot be written.
        """
        self._path, self._has_reason = path, False
        self._write(b"", os.O_CREAT | os.O_EXCL)

    def write(self, why: str) -> None:
        """Write why the recording stops. If that is impossible too, as on a disk that is gone, do nothing."""
        reason = json.dumps({"why": why[:_MOST_CHARACTERS], "at": time.time()})
        with contextlib.suppress(OSError):
            self._write(reason.encode(), 0)
            self._has_reason = True

    def remove_if_blank(self) -> None:
        """Remove the file, unless it has a reason."""
        if not self._has_reason:
            self._path.unlink(missing_ok=True)

    def _write(self, text: bytes, flags: int) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | flags, 0o600)
        try:
            os.write(descriptor, text.ljust(_BYTES))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read_reserved(files: Files, name: str) -> dict[str, Any]:
    """Read why a recording has stopped: `why` and `at`, in seconds since the epoch. Empty if it has not, or cannot be read."""
    try:
        content = json.loads(files.text(name) or "{}")
    except (RunFileError, ValueError, RecursionError):  # A blank file has no reason.
        return {}
    is_whole = (
        isinstance(content, dict) and isinstance(content.get("why"), str) and isinstance(content.get("at"), float)
    )
    return {"why": content["why"][:_MOST_CHARACTERS], "at": content["at"]} if is_whole else {}
