"""Follow calls and lines by `sys.settrace`, where there is no `sys.monitoring` (Python 3.11), or no free tool id.

Python calls the trace function for JAX's functions too, some 2000 times an equation. If another trace function is
installed (by a debugger, or by coverage), no call is followed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from jax_debug_widgets._jax.tracing.followed import CallFollower, FollowedCall

_Trace = Callable[[FrameType, str, Any], Any]


def begin(frame: FrameType, follower: CallFollower) -> None:
    """Follow the calls of the current thread until the function of `frame` returns."""
    if sys.gettrace() is None:
        called = _calls(follower)
        frame.f_trace, frame.f_trace_lines = _ending(called), False
        sys.settrace(called)


def is_on() -> bool:
    """Whether calls of the current thread are followed."""
    return getattr(sys.gettrace(), "__module__", "") == __name__


def _ending(called: _Trace) -> _Trace:
    def end(_frame: FrameType, event: str, _arg: Any) -> _Trace:
        if event == "return" and sys.gettrace() is called:  # A debugger may have installed its own.
            sys.settrace(None)
        return end

    return end


def _calls(follower: CallFollower) -> _Trace:
    """Make the global trace function: Python calls it for each new frame, and it returns the function for the frame's lines."""
    others = follower.others

    def call(frame: FrameType, _event: str, _arg: Any) -> _Trace | None:
        if frame.f_code.co_filename in others:  # Nearly all frames are JAX's. They get no further call.
            return None
        followed = follower.enter(frame)
        return _lines(followed) if followed else None

    return call


def _lines(followed: FollowedCall) -> _Trace:
    def go_on(frame: FrameType, event: str, given: Any) -> _Trace:
        if event == "line":
            followed.go_on(frame, frame.f_lineno)
        elif event == "return":
            followed.end(frame, given)
        return go_on

    return go_on
