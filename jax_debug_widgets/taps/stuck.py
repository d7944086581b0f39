"""Find out why a user's function does not return: read the stack of its thread, without stopping the thread."""

from __future__ import annotations

import linecache
import re
import sys
import threading
from dataclasses import dataclass
from types import FrameType

from jax_debug_widgets.events.host_call import is_hidden

_WAITING = {
    "threading": "it waits for a lock or another thread",
    "queue": "it waits for a queue",
    "concurrent": "it waits for another thread",
    "asyncio": "it waits for an event loop",
    "multiprocessing": "it waits for another process",
    "subprocess": "it waits for another process",
    "selectors": "it waits for input",
    "socket": "it waits for the network",
    "ssl": "it waits for the network",
    "pdb": "it waits for a person at the debugger",
}
"""Standard module of the innermost frames -> the reason why the function waits."""

_BRIEF = frozenset({"is_set", "current_thread", "locked", "put", "notify", "notify_all", "set", "release", "ident"})
"""Functions of these modules that return at once."""

_CALLS = {
    r"\.acquire\(|\bwith\b.*lock": "it waits for a lock",
    r"\bsleep\(": "it sleeps",
    r"\.get\(": "it waits for a queue",
    r"\.(join|wait)\(": "it waits for another thread",
    r"\binput\(": "it waits for a person's input",
    r"\.recv\(": "it waits for the network",
    r"\.read\w*\(": "it waits for input",
}
"""Pattern in the running line -> the reason why the function waits. Functions written in C have no frame of their own."""

_CALLS_JAX = (
    "it calls JAX and waits for the result, which cannot come before the program that called it has gone on; "
    "a host function must use NumPy only"
)


@dataclass(frozen=True)
class StuckThread:
    """The user's line that a thread stands at (`file`, `line`, `function`), and the likely reason."""

    file: str
    line: int
    function: str
    reason: str


def standstill(thread: int) -> StuckThread | None:
    """Return where the thread with this ident is now; None if it runs no code of the user's."""
    frame = sys._current_frames().get(thread)  # noqa: SLF001 - documented, and named so to be noticed.
    if frame is None:
        return None
    inner: list[FrameType] = []
    while frame is not None and _is_foreign(frame):
        inner.append(frame)
        frame = frame.f_back
    if frame is None:
        return None
    file, line = frame.f_code.co_filename, frame.f_lineno
    return StuckThread(file, line, frame.f_code.co_qualname, _reason(inner, linecache.getline(file, line)))


def thread_name(thread: int) -> str:
    """Return `main`, or `XLA` with the ident of the thread."""
    return "main" if thread == threading.main_thread().ident else f"XLA {thread}"


def _is_foreign(frame: FrameType) -> bool:
    """Whether a frame is not the user's but one that the user's line called: of JAX, this package or the standard library."""
    file = frame.f_code.co_filename
    return is_hidden(file) or _module_of(file) in _WAITING


def _module_of(file: str) -> str:
    """Return the top module of a file of the standard library; empty for other files."""
    library = linecache.__file__.removesuffix("linecache.py")
    if not file.startswith(library) or "site-packages" in file:
        return ""
    return file.removeprefix(library).partition("/")[0].removesuffix(".py")


def _reason(inner: list[FrameType], source: str) -> str:
    if any(is_hidden(frame.f_code.co_filename) for frame in inner):
        return _CALLS_JAX
    for frame in inner:
        waiting = _WAITING.get(_module_of(frame.f_code.co_filename))
        if waiting is not None and frame.f_code.co_name not in _BRIEF:
            return waiting
    return next((waiting for call, waiting in _CALLS.items() if re.search(call, source)), "it is still computing")
