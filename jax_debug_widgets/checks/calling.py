"""Find the user's line that calls a jitted function, and tell what a library does by itself."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import takewhile
from types import CodeType, FrameType

from jax_debug_widgets._jax.origins.frames import Frame, calling_frame, frame_at, is_users
from jax_debug_widgets.watch import is_library


def calling_line() -> Frame | None:
    """Return the innermost line on the Python stack that is not in a library; None if there is none."""
    frame: FrameType | None = calling_frame()
    while frame is not None and (not is_users(frame.f_code.co_filename) or is_library(frame.f_code.co_filename)):
        frame = frame.f_back
    return None if frame is None else frame_at(frame.f_code, frame.f_lasti)


def calling_stack() -> tuple[tuple[str, CodeType, int], ...]:
    """Return the file and the place of each call on the Python stack, innermost first, without JAX's and ours."""
    frame: FrameType | None = calling_frame()
    found: list[tuple[str, CodeType, int]] = []
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            found.append((frame.f_code.co_filename, frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(found)


def are_within_library(one: Sequence[Hashable], other: Sequence[Hashable], files: Sequence[str]) -> bool:
    """Return whether two stacks, innermost first, part in a library and end there: one call of the user's makes it do both.

    A function of the user's may be between, such as a model that a library calls with a key of its own.

    Args:
      one, other: the frames of the stacks.
      files: the files of the frames of both.
    """
    pairs = zip(reversed(one), reversed(other), strict=False)
    together = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    inner, others = len(one) - together, len(other) - together
    if not (inner and others):
        return False
    apart = files[0], files[inner - 1], files[len(one)], files[len(one) + others - 1]
    return all(map(is_library, apart))
