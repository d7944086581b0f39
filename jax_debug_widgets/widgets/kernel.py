"""Find the kernel that runs this process, if there is one."""

from __future__ import annotations

import sys
from typing import Any

from IPython.core.getipython import get_ipython


def running_kernel() -> Any:
    """Return the kernel; None in a terminal and in plain Python."""
    return getattr(get_ipython(), "kernel", None)


def has_front_end() -> bool:
    """Whether the code runs in IPython, and not in plain Python."""
    return get_ipython() is not None


def is_engine() -> bool:
    """Whether the kernel is an engine of ipyparallel. Its client relays only displayed outputs and messages of widgets."""
    return type(running_kernel()).__module__.partition(".")[0] == "ipyparallel"


def running_cell() -> int | None:
    """Return the number of the running cell, `In [n]`; None without cells."""
    history = getattr(get_ipython(), "history_manager", None)
    # IPython 9 counts a cell when it begins, older versions when it ends. Both store its text before it runs.
    return (len(history.input_hist_parsed) - 1 or None) if history is not None else None


def may_ask() -> bool:
    """Whether the user can be asked for input.

    In a kernel, the client that runs the cell decides this (nbclient does not allow it).
    """
    kernel = running_kernel()
    if kernel is not None:
        return bool(getattr(kernel, "_allow_stdin", True))
    return sys.stdin is not None and sys.stdin.isatty()
