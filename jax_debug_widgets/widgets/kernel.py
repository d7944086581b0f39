"""The kernel that runs us, if one does."""

from __future__ import annotations

import sys
from typing import Any

from IPython.core.getipython import get_ipython


def running_kernel() -> Any:
    """The kernel; None in a terminal and in plain Python."""
    return getattr(get_ipython(), "kernel", None)


def has_front_end() -> bool:
    """Whether IPython runs us, as opposed to plain Python."""
    return get_ipython() is not None


def is_engine() -> bool:
    """Whether it is an engine of ipyparallel: its client relays what is displayed and the messages of widgets, and no more."""
    return type(running_kernel()).__module__.partition(".")[0] == "ipyparallel"


def running_cell() -> int | None:
    """The number of the cell that runs, `In [n]`; None where there are no cells."""
    history = getattr(get_ipython(), "history_manager", None)
    # IPython 9 counts a cell when it begins, older ones when it ends; both store its text before it runs.
    return (len(history.input_hist_parsed) - 1 or None) if history is not None else None


def may_ask() -> bool:
    """Whether somebody can be asked for input: in a kernel, whoever runs the cell says so (nbclient says no)."""
    kernel = running_kernel()
    if kernel is not None:
        return bool(getattr(kernel, "_allow_stdin", True))
    return sys.stdin is not None and sys.stdin.isatty()
