"""Follow the calls of the user's functions while JAX traces: after each line that assigns something, its expressions are noted.

`by_monitoring` and `by_settrace` use the two ways in which Python reports calls and lines.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from types import CodeType, FrameType
from typing import Any

import numpy as np

from jax_debug_widgets._jax.origins.frames import is_users
from jax_debug_widgets._jax.origins.libraries import is_of_python
from jax_debug_widgets._jax.tracing.expressions import Expression, Lines

Note = Callable[[FrameType, Sequence[Expression], int, Any], object]
"""Takes a frame, expressions to look up in it, the line that comes next, and the value that the function returns; None
if it goes on.
"""


class CallFollower:
    """Decides for each call whether it is followed.

    Args:
      lines_of: returns the lines of a function, or None for a file without any.
      note: notes the expressions of a line that has run.
      note_arguments: notes the arguments of a call that begins.

    Attributes:
      others: files that are known to have no lines to note.
    """

    def __init__(
        self, lines_of: Callable[[CodeType], Lines | None], note: Note, note_arguments: Callable[[FrameType], object]
    ) -> None:
        self._lines_of, self._note, self._note_arguments = lines_of, note, note_arguments
        self.others: set[str] = set()
        self._known: dict[int, tuple[CodeType, Lines]] = {}
        """`id` of a code object -> the object and its lines. Code objects as keys would be hashed by their whole content."""

    def leaves_out(self, code: CodeType) -> bool:
        """Whether a function's file is known to have no lines to note."""
        return code.co_filename in self.others

    def enter(self, frame: FrameType) -> FollowedCall | None:
        """Note the arguments of a call that begins, or of a generator that goes on.

        Return the object that follows its lines, if any.
        """
        code = frame.f_code
        if self.leaves_out(code) or is_generated(frame):
            return None
        known = self._known.get(id(code))
        if known is None:
            lines = self._lines_of(code) if may_name(code.co_filename) else None
            if lines is None:
                self.others.add(code.co_filename)
                return None
            known = self._known[id(code)] = code, lines
        self._note_arguments(frame)
        return FollowedCall(known[1], self._note) if known[1] else None


class FollowedCall:
    """Follows one call of a function: notes the expressions of each line after the line has run."""

    __slots__ = ("_line", "_lines", "_note")

    def __init__(self, lines: Lines, note: Note) -> None:
        self._lines, self._note, self._line = lines, note, 0

    def go_on(self, frame: FrameType, line: int) -> None:
        """Note the expressions of the line that has run; the frame comes to line `line`."""
        if expressions := self._lines.get(self._line):
            self._note(frame, expressions, line, None)
        self._line = line

    def end(self, frame: FrameType, returned: Any) -> None:
        """Note the expressions of the last line. `returned` is None if the frame ends by an exception."""
        if expressions := self._lines.get(self._line):
            self._note(frame, expressions, frame.f_lineno, returned)


_NUMPY = os.path.join(os.path.dirname(np.__file__), "")


@functools.lru_cache(maxsize=4096)
def may_name(file: str) -> bool:
    """Whether the variables of a file's functions are noted: not those of JAX, NumPy and Python's standard library."""
    return is_users(file) and not (is_of_python(file) or file.startswith((_NUMPY, "<frozen ")))


def is_generated(frame: FrameType) -> bool:
    """Whether Python has generated the function of a frame, such as a dataclass's `__init__`.

    The file of such a function is `<string>`. So is the file of a program run by `python -c`, and Python 3.13 returns
    that program's source for both.
    """
    code = frame.f_code
    return code.co_filename == "<string>" and (
        code.co_qualname.startswith("__create_fn__.") or frame.f_globals.get("__name__") != "__main__"
    )
