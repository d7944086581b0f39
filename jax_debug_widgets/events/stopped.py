"""Define the exception that ends a program."""

from __future__ import annotations


class Stopped(KeyboardInterrupt):
    """The user ended the program: in the panel, by `q` at a breakpoint, or by an interrupt.

    It is a `KeyboardInterrupt`, so that code that catches `Exception` does not take it for a failure and try again.
    """
