"""Describe the calls of a user's host functions: their results or exceptions, their times and threads."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from jax_debug_widgets.events.event import Tap
    from jax_debug_widgets.events.site import CallSite

_PACKAGES = "/site-packages/"
_HIDDEN_PACKAGES = ("jax", "jaxlib")
_OUR_FILES = os.path.dirname(os.path.dirname(__file__)) + os.sep
"""The files of this package. Their frames, and those of JAX, are left out of a user's traceback."""

CALLER = os.path.join(_OUR_FILES, "taps", "outcomes.py")
"""The file that calls the user's host functions."""


class RejectedResultError(Exception):
    """A host function returned a result that does not fit the shapes and dtypes that the program declares.

    Attributes:
      given: the types of the function's arguments; empty if they are not known.
    """

    def __init__(self, why: str, given: str = "") -> None:
        """Make the error; its text is `why`, the reason why JAX rejects the result."""
        super().__init__(why)
        self.given = given


@dataclass(frozen=True)
class CallContext:
    """The context of a call in its program: the derivative that it is for, and the user's calls that led to it.

    Attributes:
      derivative: the number of enclosing derivatives: 0 for the function itself, 1 in a rule for `grad`, 2 in a rule for a
        Hessian.
      asked_by: the user's calls that led to it, innermost first, as `file:line in function: source`.
    """

    derivative: int = 0
    asked_by: tuple[str, ...] = ()


Outcome = tuple["Tap", int, int, int, int, tuple[int, ...], Any, "BaseException | None"]
"""The record of a user's function that has ended: the tap, `perf_counter_ns` of the firing, of the begin and of the end,
the thread's ident, the lane, the result (None if it raised), the exception."""


@dataclass(frozen=True, eq=False)
class HostCall:
    """One call of a user's host function.

    Attributes:
      site: the site of the call in the program.
      number: the number of calls of the run that had ended before it.
      started_ns: when it began, in ns since the run started.
      duration_ns: how long it took, in ns.
      thread: `"main"`, the name of a Python thread that calls JAX, or `"XLA 140…"` for one of XLA's threads.
      lane: index over the `vmap` axes, for kinds that are called once a lane.
      result: the result as it was at the return, as flat NumPy arrays; None if it raised, or if the result was too large.
      raised: type and message of its exception, or why JAX rejects its result; empty if it returned.
      error: the exception with its own traceback; None if it returned, and for all but the first hundred of a run.
      asked: the context of the call in its program.
      fired_ns: when its event fired, in ns since the run started; equals `Event.time_ns` of that event.
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
        """How long it took, in seconds."""
        return self.duration_ns * 1e-9

    @property
    def traceback(self) -> str:
        """The exception's traceback as Python would show it, which JAX loses; empty if it returned."""
        return own_traceback(self.error)

    def __repr__(self) -> str:
        is_rejected = self.raised.startswith(RejectedResultError.__name__)
        end = "returned what JAX rejects" if is_rejected else f"raised {self.raised}" if self.raised else "returned"
        return f"HostCall({self.number}, {self.site.format} at {self.site.where}, {end} after {self.seconds:.3g} s)"


@dataclass(frozen=True, eq=False)
class CallbackSummary:
    """The calls of one site in one run.

    Attributes:
      calls: the number of calls that have begun.
      returned, raised: the number of calls that have ended so. A result that JAX rejects counts as raised.
      total, longest: seconds in the function, over the calls that have ended.
      threads: the number of calls that ended on each thread.
      error: the last exception with its own traceback; None if none was raised.
      staged: how often the call is in the program as traced; None if the program was not traced in this run.
      kept: how often the call is in the compiled program, after JAX removed unused calls.
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
        """The mean seconds of a call; NaN before the first call has ended."""
        ended = self.returned + self.raised
        return self.total / ended if ended else float("nan")

    @property
    def eliminated(self) -> bool:
        """Whether JAX removed the call from the program, because nothing uses its result."""
        return bool(self.staged) and not self.kept and not self.calls

    @property
    def traceback(self) -> str:
        """The last exception's traceback as Python would show it; empty if none was raised."""
        return own_traceback(self.error)


def own_traceback(error: BaseException | None) -> str:
    """Return the traceback of an exception from the user's function on, without frames of JAX and of this package."""
    if error is None:
        return ""
    shown = traceback.TracebackException.from_exception(error)
    queue: list[traceback.TracebackException | None] = [shown]
    while queue:
        one = queue.pop()
        if one is not None:
            one.stack = traceback.StackSummary.from_list(own_frames(one.stack))
            queue += [one.__cause__, one.__context__]
    return "".join(shown.format()).rstrip()


def own_frames(stack: Sequence[traceback.FrameSummary]) -> list[traceback.FrameSummary]:
    """Return the user's frames from the host function on. In un-jitted code, the frames that led to JAX come before it."""
    start = next((i for i, frame in enumerate(stack) if frame.filename == CALLER), -1)
    return [frame for frame in stack[start + 1 :] if not is_hidden(frame.filename)]


def place_of(error: BaseException | None, name_file: Callable[[str], str]) -> str:
    """Return where the user's code raised an exception, ` in loss at train.py:41`; empty if no frame is the user's."""
    frames = own_frames(traceback.extract_tb(error.__traceback__ if error else None))
    frames = [one for one in frames if _PACKAGES not in one.filename.replace(os.sep, "/")] or frames
    if not frames:
        return ""
    function = "" if frames[-1].name == "<module>" else f" in {frames[-1].name}"
    return f"{function} at {name_file(frames[-1].filename)}:{frames[-1].lineno}"


def is_hidden(file: str) -> bool:
    """Whether a file belongs to JAX or to this package, so that its frames are not the user's."""
    if file.startswith(_OUR_FILES):
        return True
    _, found, inside = file.replace(os.sep, "/").rpartition(_PACKAGES)
    return bool(found) and inside.partition("/")[0] in _HIDDEN_PACKAGES
