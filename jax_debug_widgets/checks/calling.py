"""Find the user's line that calls a jitted function, and compare the stacks of two calls."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import takewhile
from types import CodeType, FrameType

from jax_debug_widgets._jax.origins.frames import Frame, calling_frame, frame_at, is_users
from jax_debug_widgets.checks.python_loops import is_in_loop
from jax_debug_widgets.watch import is_library

CallStack = tuple[tuple[str, CodeType, int], ...]
"""The file, the code and the instruction of each call, innermost first."""


def run_again(one: CallStack, other: CallStack, *, is_draw: bool) -> tuple[Frame, Frame] | None:
    """Return the two lines that make one call twice: two calls of one helper, or one line of a loop.

    Args:
      one, other: the stacks, both without JAX's frames.
      is_draw: whether the calls draw numbers. If so, a loop around any of the user's frames counts. Otherwise only a loop
        around the innermost frame counts, because an outer loop may begin with the same key on purpose.

    Returns:
      None if nothing shows that both belong to one run of a function, as for a cell that runs again.
    """
    own, others = ([frame for frame in stack if not is_library(frame[0])] for stack in (one, other))
    if len(own) != len(others):
        return None
    for before, now in zip(reversed(own), reversed(others), strict=True):
        if before != now:
            is_one_run = before[1] is now[1] and before[2] != now[2]
            return (frame_at(*before[1:]), frame_at(*now[1:])) if is_one_run else None
    for file, code, place in others if is_draw else others[:1]:
        line = frame_at(code, place)
        if is_in_loop(file, line.line, line.column):
            return line, line
    return None


def calling_line() -> Frame | None:
    """Return the innermost line on the Python stack that is not in a library; None if there is none."""
    frame: FrameType | None = calling_frame()
    while frame is not None and (not is_users(frame.f_code.co_filename) or is_library(frame.f_code.co_filename)):
        frame = frame.f_back
    return None if frame is None else frame_at(frame.f_code, frame.f_lasti)


def is_called_at(line: Frame) -> bool:
    """Return whether a line itself calls what runs now, without a library between them."""
    stack = calling_stack()
    return bool(stack) and frame_at(*stack[0][1:]) == line


def calling_stack() -> CallStack:
    """Return the file, the code and the instruction of each call on the Python stack, innermost first.

    Frames of JAX and of this package are left out.
    """
    frame: FrameType | None = calling_frame()
    found: list[tuple[str, CodeType, int]] = []
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            found.append((frame.f_code.co_filename, frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(found)


def are_within_library(one: Sequence[Hashable], other: Sequence[Hashable], files: Sequence[str]) -> bool:
    """Return whether two stacks diverge inside a library and end in a library: one call of the user's leads to both.

    A function of the user's may be between, such as a model that a library calls with a key of its own.

    Args:
      one, other: the frames of the stacks, innermost first.
      files: the files of the frames of `one`, then of `other`.
    """
    pairs = zip(reversed(one), reversed(other), strict=False)
    together = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    inner, others = len(one) - together, len(other) - together
    if not (inner and others):
        return False
    apart = files[0], files[inner - 1], files[len(one)], files[len(one) + others - 1]
    return all(map(is_library, apart))
