"""Wrap the function that runs an executable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Wrap = Callable[[Any], Any]
"""Takes the function that runs an executable, an `ExecuteReplicated` or one that was wrapped; returns another one."""


def wrap_call(executable: Any, whose: object, wrap: Wrap) -> None:
    """Let `wrap` replace the function that runs an executable, once for each `whose`.

    JAX caches an executable, and each call that Python dispatches compiles it again, so it may have been wrapped before.
    """
    if not isinstance(executable.build_unsafe_call, _Build):
        executable.build_unsafe_call = _Build(executable.build_unsafe_call)
    executable.build_unsafe_call.wraps.setdefault(whose, wrap)


class _Build:
    """Replaces `build_unsafe_call` of an executable: makes the function that runs it.

    Attributes:
      wraps: those who wrap the function, and how, in the order in which they wrap it.
    """

    def __init__(self, theirs: Callable[[], Any]) -> None:
        self._theirs = theirs
        self.wraps: dict[object, Wrap] = {}

    def __call__(self) -> Any:
        call = self._theirs()
        for wrap in self.wraps.values():
            call = wrap(call)
        return call
