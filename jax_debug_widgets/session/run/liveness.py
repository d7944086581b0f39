"""Find out whether the process that writes a run is still alive."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SILENT_S = 30.0
"""A process on another host counts as gone after this number of seconds without a write; it writes every two seconds."""


def is_alive(about: Mapping[str, Any], state: Mapping[str, Any]) -> bool:
    """Whether the process that writes a run is alive. On another host, the time of its last write decides."""
    pid, written = about.get("pid"), state.get("written")
    if about.get("host") == socket.gethostname() and type(pid) is int and pid > 0:
        return _is_running(pid)
    return isinstance(written, float) and time.time() - written < SILENT_S


def has_just_written(about: Mapping[str, Any], state: Mapping[str, Any]) -> bool:
    """Whether a process has written a moment ago. The recording of a living process may have stopped."""
    written = state.get("written", about.get("started"))
    return isinstance(written, float) and time.time() - written < SILENT_S


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # The process belongs to another user.
        return True
    return not _has_ended(pid)


def _has_ended(pid: int) -> bool:
    """Whether a process has ended, and only its number is left until the process that started it asks how it ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:  # There is no such file on this operating system.
        return False
    return stat.rpartition(")")[2].split()[:1] == ["Z"]


def still_open(about: Mapping[str, Any], state: Mapping[str, Any]) -> str:
    """Write the note about a run without an end that its process does not write any more."""
    written = state.get("written")
    when = at_time(written) if isinstance(written, float) else ""
    last = f"; its last status was written at {when}" if when else ""
    is_gone = about.get("host") == socket.gethostname() and not is_alive(about, state)
    why = "was killed, or ran out of memory" if is_gone else "is still running, or was killed"
    return f"The recording has no end: its process {why}{last}."


def sign_of(about: Mapping[str, Any], state: Mapping[str, Any]) -> str:
    """Say for how long a process has given no sign, or that it is gone; empty while it goes on, and when it is over."""
    if state.get("is_over"):
        return ""
    if not is_alive(about, state):
        return (
            "is gone" if about.get("host") == socket.gethostname() else f"has shown no sign of life for {_age(state)}"
        )
    return "" if has_just_written(about, state) else f"has written nothing for {_age(state)}"


def at_time(moment: float) -> str:
    """Write a time in seconds since the epoch as local time; write the number itself if it is out of range."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))
    except (OverflowError, ValueError, OSError):
        return str(moment)


def _age(state: Mapping[str, Any]) -> str:
    written = state.get("written")
    return f"{time.time() - written:.0f} s" if isinstance(written, float) else "a long time"
