"""What became of the calls of a user's host functions: what they returned or raised, how long they took, and where."""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from jax_debug_widgets.events.event import Tap
    from jax_debug_widgets.events.site import CallSite

_HIDDEN_PACKAGES = ("jax", "jaxlib")
_OUR_FILES = os.path.dirname(os.path.dirname(__file__)) + os.sep
"""Frames of these are no part of the traceback that a user looks for."""

CALLER = os.path.join(_OUR_FILES, "taps", "outcomes.py")
"""The file that calls the user's host functions."""


class RejectedResultError(Exception):
    """A host function has returned what JAX does not take for the result that the program declares.

    Attributes:
      given: what it was given, in words; empty where that is not known.
    """

    def __init__(self, why: str, given: str = "") -> None:
        """`str` of it is why JAX does not take the result."""
        super().__init__(why)
        self.given = given


@dataclass(frozen=True)
class CallContext:
    """Who asked for a call: the derivative that it is for, and the calls that led to it.

    Attributes:
      derivative: how many derivatives were being taken when it was made: 0 for the function itself, 1 in the rule that
        `grad` asked for, 2 in that of a Hessian.
      asked_by: the user's calls that led to it, innermost first, as `file:line in function: source`.
    """

    derivative: int = 0
    asked_by: tuple[str, ...] = ()


Outcome = tuple["Tap", int, int, int, int, tuple[int, ...], Any, "BaseException | None"]
"""What is appended when a user's function has ended: the tap, `perf_counter_ns` of the firing, of its begin and its end,
the thread's ident, the lane, what it returned (None if it raised), the exception."""


@dataclass(frozen=True, eq=False)
class HostCall:
    """One call of a user's host function.

    Attributes:
      site: which call of the program it was.
      number: how many calls of the run had ended before it.
      started_ns: when it began, nanoseconds since the run started; `duration_ns`: how long it took.
      thread: `"main"`, the name of a Python thread that calls JAX, or which of XLA's threads: `"XLA 140…"`.
      lane: index over the `vmap` axes, for kinds that are called once a lane.
      result: what it returned, as it was then, as flat NumPy arrays; None where it raised, or that was too large to keep.
      raised: type and message of what it raised, or why JAX rejects what it returned; empty where it returned.
      error: the exception, with its own traceback; None where it returned, and for all but the first hundred of a run.
      asked: which derivative asked for it, and from where.
      fired_ns: when its event fired, since the run started; equals `Event.time_ns` of that event.
    """

    site: CallSite
    number: int
    started_ns: int
    duration_ns: int
    thread: str
    lane: tuple[int, ...]
    result: tuple[np.ndarray, ...] | None
    raised: str
    error: BaseException | None
    asked: CallContext
    fired_ns: int

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.duration_ns * 1e-9

    @property
    def traceback(self) -> str:
        """Its exception as Python would have shown it, had JAX not lost it; empty where it returned."""
        return own_traceback(self.error)

    def __repr__(self) -> str:
        is_rejected = self.raised.startswith(RejectedResultError.__name__)
        end = "returned what JAX rejects" if is_rejected else f"raised {self.raised}" if self.raised else "returned"
        return f"HostCall({self.number}, {self.site.format} at {self.site.where}, {end} after {self.seconds:.3g} s)"


@dataclass(frozen=True, eq=False)
class CallbackSummary:
    """The calls of one site in one run.

    Attributes:
      calls: how many have begun; `returned`, `raised`: how many have ended so. What JAX rejects has not returned.
      total, longest: seconds in the function, over those that have ended.
      threads: how many calls ended on each thread.
      error: the last exception, with its own traceback; None where none was raised.
      staged: how often the call is in the program as traced; None where the program was not traced in this run.
      kept: how often it is in the program that was compiled, after JAX removed what is not used.
    """

    site: CallSite
    calls: int = 0
    returned: int = 0
    raised: int = 0
    total: float = 0.0
    longest: float = 0.0
    threads: Mapping[str, int] = field(default_factory=dict)
    error: BaseException | None = None
    staged: int | None = None
    kept: int | None = None

    @property
    def mean(self) -> float:
        """Seconds in one call, on average; NaN before the first has ended."""
        ended = self.returned + self.raised
        return self.total / ended if ended else float("nan")

    @property
    def eliminated(self) -> bool:
        """Whether JAX removed the call from the program, because nothing uses its result."""
        return bool(self.staged) and not self.kept and not self.calls

    @property
    def traceback(self) -> str:
        """The last exception as Python would have shown it; empty where none was raised."""
        return own_traceback(self.error)


def own_traceback(error: BaseException | None) -> str:
    """The traceback of an exception from the user's function on, without the frames of JAX and of this package."""
    if error is None:
        return ""
    told = traceback.TracebackException.from_exception(error)
    queue: list[traceback.TracebackException | None] = [told]
    while queue:
        one = queue.pop()
        if one is not None:
            one.stack = traceback.StackSummary.from_list(own_frames(one.stack))
            queue += [one.__cause__, one.__context__]
    return "".join(told.format()).rstrip()


def own_frames(stack: Sequence[traceback.FrameSummary]) -> list[traceback.FrameSummary]:
    """The user's frames from the host function on: un-jitted, those that led to JAX come before."""
    start = next((i for i, frame in enumerate(stack) if frame.filename == CALLER), -1)
    return [frame for frame in stack[start + 1 :] if not is_hidden(frame.filename)]


def is_hidden(file: str) -> bool:
    """Whether a file is JAX's or of this package, so that its frames are none of a user's."""
    if file.startswith(_OUR_FILES):
        return True
    _, found, inside = file.replace(os.sep, "/").rpartition("/site-packages/")
    return bool(found) and inside.partition("/")[0] in _HIDDEN_PACKAGES
