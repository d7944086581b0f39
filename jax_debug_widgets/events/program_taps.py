"""Define the taps of a program, in the order of its equations."""

from __future__ import annotations

from jax_debug_widgets.events.tap import Tap


class ProgramTaps(tuple[Tap, ...]):  # noqa: SLOT001 - Python has no slots for a tuple.
    """The taps that fire in the calls of a program.

    Attributes:
      left_out: the taps of values that the calls leave out. These do not fire, but each call is an execution of them.
    """

    left_out: tuple[Tap, ...] = ()
