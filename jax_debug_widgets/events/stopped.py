"""What ends a program."""

from __future__ import annotations


class Stopped(KeyboardInterrupt):
    """The program was ended on purpose: from the panel, by `q` at a breakpoint, or by an interrupt.

    A `KeyboardInterrupt`, so that code which catches `Exception` does not take it for a failure and try again.
    """
