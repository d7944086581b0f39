"""The kernel that runs us, if one does."""

from __future__ import annotations

import sys
from typing import Any

from IPython.core.getipython import get_ipython


def running_kernel() -> Any:
    """The kernel; None in a terminal and in plain Python."""
    return getattr(get_ipython(), "kernel", None)


def running_cell() -> int | None:
    """The number of the cell that runs, `In [n]`; None where there are no cells."""
    return getattr(get_ipython(), "execution_count", None)


def may_ask() -> bool:
    """Whether somebody can be asked for input: in a kernel, whoever runs the cell says so (nbclient says no)."""
    kernel = running_kernel()
    if kernel is not None:
        return bool(getattr(kernel, "_allow_stdin", True))
    return sys.stdin is not None and sys.stdin.isatty()
