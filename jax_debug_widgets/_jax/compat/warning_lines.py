"""Show JAX's warnings at the same line as without us: our frames do not count for `stacklevel`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from itertools import count
from types import FrameType
from typing import Any

from jax_debug_widgets._jax.compat.hidden_frames import FOLDER
from jax_debug_widgets._jax.compat.replacements import Replacements, Replacing


class WarningLines(Replacing):
    """Replaces `warnings.warn`, because our replacements in JAX add frames between a warning and its caller."""

    def _put_in(self, replace: Replacements) -> None:
        replace.attribute(warnings, "warn", self._warn)

    def _warn(
        self,
        theirs: Callable[..., None],
        message: Any,
        category: Any = None,
        stacklevel: int = 1,
        *rest: Any,
        **others: Any,
    ) -> None:
        # Count from `theirs`, which is above this frame.
        return theirs(message, category, 1 + _levels(sys._getframe(), stacklevel), *rest, **others)


def _levels(begin: FrameType, stacklevel: int) -> int:
    """Return the `stacklevel` counted from `begin` that includes our frames."""
    frame: FrameType | None = begin
    left = max(stacklevel, 1)
    for number in count(1):
        if frame is None:
            return number
        if not frame.f_code.co_filename.startswith(FOLDER):
            left -= 1
        if not left:
            return number
        frame = frame.f_back
    return stacklevel
