"""Follow calls and lines by `sys.monitoring` (Python 3.12): Python reports only the user's functions, not JAX's.

Debuggers and coverage tools have tool ids of their own. Ours is taken while JAX traces and given back afterwards.
Python reports the events of all threads to one tool; events of threads that do not trace are ignored.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from types import CodeType, FrameType
from typing import Any

from jax_debug_widgets._jax.tracing.followed import CallFollower, FollowedCall, is_generated, may_name

_monitoring: Any = getattr(sys, "monitoring", None)

_TOOL_IDS = (4, 3)
"""The ids that Python does not reserve for a kind of tool."""

_NAME = "jax_debug_widgets"


class _Here(threading.local):
    """The calls that the current thread follows.

    Attributes:
      follower: decides which calls are followed; None if no call is.
      until: following ends when this frame ends.
      calls: the frames that are followed, outermost first.
      reports_calls: whether Python reports calls; it does not while a debugger's trace function runs.
    """

    # There is no `__init__`, because Python would report its call before it has run.
    follower: CallFollower | None = None
    until: FrameType | None = None
    calls: Sequence[tuple[FrameType, FollowedCall]] = ()
    reports_calls = False


_here = _Here()


class _Tool:
    """Our tool id, which threads that trace at the same time share."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # The garbage collector may run code that traces.
        self._users = 0
        self._id: int | None = None
        self._codes: dict[int, CodeType] = {}
        """`id` of a code object -> the code object, for those whose lines Python reports."""

    def take(self) -> bool:
        """Begin to use the tool id. Return whether there is one."""
        with self._lock:
            if self._id is None and not self._begin():
                return False
            self._users += 1
            return True

    def leave(self) -> None:
        """Stop using the tool id; its last user gives it back."""
        with self._lock:
            self._users -= 1
            if not self._users:
                self._end()

    def report_events_of(self, code: CodeType, events: Any) -> None:
        """Let Python report events of a function."""
        with self._lock:
            if self._id is not None and id(code) not in self._codes:
                self._codes[id(code)] = code
                _monitoring.set_local_events(self._id, code, events)

    def is_to_have(self) -> bool:
        """Whether a tool id is free for us."""
        with self._lock:
            return self._id is not None or any(_monitoring.get_tool(one) is None for one in _TOOL_IDS)

    def _begin(self) -> bool:
        for one in _TOOL_IDS:
            if _monitoring.get_tool(one) is None:
                _monitoring.use_tool_id(one, _NAME)
                self._id = one
                for event, ours in _CALLED.items():
                    _monitoring.register_callback(one, event, ours)
                _monitoring.set_events(one, _CALLS)
                return True
        return False

    def _end(self) -> None:
        own, self._id = self._id, None
        _monitoring.set_events(own, 0)
        while self._codes:
            _monitoring.set_local_events(own, self._codes.popitem()[1], 0)
        for event in _CALLED:
            _monitoring.register_callback(own, event, None)
        _monitoring.free_tool_id(own)


_tool = _Tool()


def begin(frame: FrameType, follower: CallFollower) -> bool:
    """Follow the calls of the current thread until the function of `frame` returns. Return whether that is possible."""
    if _monitoring is None or not _tool.take():
        return False
    try:
        _here.reports_calls = False
        _try_call()
        if _here.reports_calls:
            _tool.report_events_of(frame.f_code, _ENDS)
            _here.calls, _here.until, _here.follower = (), frame, follower
    finally:
        if _here.until is not frame:
            _tool.leave()
    return _here.reports_calls


def is_on() -> bool:
    """Whether calls of the current thread are followed."""
    return _here.follower is not None


def can_be() -> bool:
    """Whether calls could be followed."""
    return _monitoring is not None and _tool.is_to_have()


def _try_call() -> None:
    """Do nothing. If Python reports calls at all, it reports the call of this function."""


def _start(code: CodeType, _offset: int) -> Any:
    follower = _here.follower
    if not may_name(code.co_filename):
        if code is not _try_call.__code__:
            return _monitoring.DISABLE
        _here.reports_calls = True
    elif follower is not None and not follower.leaves_out(code):
        if is_generated(frame := sys._getframe(1)):  # JAX's dataclasses run generated functions for each equation.
            return _monitoring.DISABLE
        _enter(follower, frame)
    return None


def _throw(code: CodeType, _offset: int, _error: BaseException) -> None:
    if _here.follower is not None and may_name(code.co_filename):
        _enter(_here.follower, sys._getframe(1))


def _enter(follower: CallFollower, frame: FrameType) -> None:
    if followed := follower.enter(frame):
        _here.calls = (*_here.calls, (frame, followed))
        _tool.report_events_of(frame.f_code, _LINES | _ENDS)


def _line(_code: CodeType, line: int) -> None:
    calls = _here.calls
    if calls and calls[-1][0] is (frame := sys._getframe(1)):
        calls[-1][1].go_on(frame, line)


def _jump(code: CodeType, offset: int, to: int) -> None:
    """Handle a one-line loop that starts again: Python reports a line only if it comes from another line."""
    calls = _here.calls
    if to < offset and calls and calls[-1][0] is (frame := sys._getframe(1)):
        line = frame.f_lineno
        if any(first <= to < end and line == one for first, end, one in code.co_lines()):
            calls[-1][1].go_on(frame, line)


def _return(_code: CodeType, _offset: int, value: Any) -> None:
    if _here.follower is not None:
        _leave(sys._getframe(1), value)


def _unwind(_code: CodeType, _offset: int, _error: BaseException) -> None:
    if _here.follower is not None:
        _leave(sys._getframe(1), None)


def _leave(frame: FrameType, value: Any) -> None:
    calls = _here.calls
    if frame is _here.until:
        _here.follower, _here.until, _here.calls = None, None, ()
        _tool.leave()
    elif calls and calls[-1][0] is frame:
        _here.calls = calls[:-1]
        calls[-1][1].end(frame, value)


if _monitoring is not None:
    _events = _monitoring.events
    _CALLED = {
        _events.PY_START: _start,
        _events.PY_RESUME: _start,
        _events.PY_THROW: _throw,
        _events.LINE: _line,
        _events.JUMP: _jump,
        _events.PY_RETURN: _return,
        _events.PY_YIELD: _return,
        _events.PY_UNWIND: _unwind,
    }
    _CALLS = _events.PY_START | _events.PY_RESUME | _events.PY_THROW | _events.PY_UNWIND
    _LINES = _events.LINE | _events.JUMP
    _ENDS = _events.PY_RETURN | _events.PY_YIELD
