"""Stand for the frames that call a program of JAX's own, such as an un-jitted operation: each call has others."""

from __future__ import annotations

from collections.abc import Sequence

from jax_debug_widgets._jax.compat.private import source_info_util
from jax_debug_widgets._jax.origins.frames import Frame, frames_of

CALLER = Frame("<caller>", 0, -1, 0, -1, "<caller>")
"""Stands for the frames of the call, as long as the program is not called."""


def of_caller(frames: Sequence[Frame], callers: Sequence[Frame]) -> tuple[Frame, ...]:
    """Return the frames with those of a call in place of `CALLER`."""
    return tuple(one for frame in frames for one in (callers if frame is CALLER else (frame,)))


def callers_of_operation() -> tuple[Frame, ...]:
    """Return the user frames around the operation that runs now, innermost first; in a backward pass those of its line."""
    return frames_of(source_info_util.current().traceback)
