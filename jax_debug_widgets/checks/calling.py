"""Find the user's line that calls a jitted function."""

from __future__ import annotations

from types import FrameType

from jax_debug_widgets._jax.origins.frames import Frame, calling_frame, frame_at, is_users
from jax_debug_widgets.watch import is_library


def calling_line() -> Frame | None:
    """Return the innermost line on the Python stack that is not in a library; None if there is none."""
    frame: FrameType | None = calling_frame()
    while frame is not None and (not is_users(frame.f_code.co_filename) or is_library(frame.f_code.co_filename)):
        frame = frame.f_back
    return None if frame is None else frame_at(frame.f_code, frame.f_lasti)
