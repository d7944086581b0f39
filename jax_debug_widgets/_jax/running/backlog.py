"""Keep the further results of calls in flight, and report the prints among them when the calls are over."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from jax_debug_widgets._jax.compat.arrays import read

if TYPE_CHECKING:
    import numpy as np

    from jax_debug_widgets._jax.passes.result_passing import ReportingProgram

MANY = 256
"""With more new calls than this in the backlog, the next call reports those that are over."""

SOME = 32
"""This many calls are read together, which takes a tenth of the time of reading them one by one."""

WhenReported = Callable[[Exception | None], None]
"""Called with the error of the program, or None, when the events of a call have been reported."""


class PendingResult:
    """The further results of one call. JAX waits for it as for the token of any effect.

    Attributes:
      program: the program that was called; its calls end in the order in which they were made.
      reporting: says what the further results are, and reports them.
      thread: the ident of the thread that made the call.
      was_over: whether the call was over when it was handed over.
      over_ns: when the call was seen to be over, `perf_counter_ns()`; None until then.
      ended_ns: the time of its last event, after its events have been reported; None until then.
    """

    __slots__ = (
        "_arrays",
        "_backlog",
        "_error",
        "_when_reported",
        "ended_ns",
        "over_ns",
        "program",
        "reporting",
        "thread",
        "was_over",
    )

    def __init__(self, backlog: Backlog, program: object, reporting: ReportingProgram, arrays: Sequence[Any]) -> None:
        self.program, self.reporting = program, reporting
        # XLA runs a small program at once; events that fire later must not get earlier times.
        self.was_over = arrays[-1].is_ready()
        self.over_ns: int | None = time.perf_counter_ns() + len(reporting.lines) if self.was_over else None
        self.ended_ns: int | None = None
        self._backlog, self.thread = backlog, threading.get_ident()
        self._arrays: Sequence[Any] = arrays
        self._error: Exception | None = None
        self._when_reported: list[WhenReported] = []

    def is_ready(self) -> bool:
        """Return whether the call is over; all its results become ready together."""
        return self.over_ns is not None or self._arrays[-1].is_ready()

    def block_until_ready(self) -> None:
        """Wait until the call and the calls before it are over.

        Raises:
          Exception: the error of the program.
        """
        if self.over_ns is None:
            self._backlog.wait_for(self)

    def wait(self) -> None:
        """Wait until the call is over."""
        arrays = self._arrays
        try:
            if arrays:
                arrays[-1].block_until_ready()
        finally:
            self.over_ns = self.over_ns or time.perf_counter_ns()

    def settle(self) -> None:
        """Wait until the call is over; ignore the error if it fails."""
        try:  # noqa: SIM105 - it would be three functions more.
            self.wait()
        except (
            RuntimeError
        ):  # JAX's error: code that waits for the outputs gets it. Exceptions of signal handlers pass.
            pass

    def then(self, when_reported: WhenReported) -> None:
        """Call a function when the events have been reported. The thread that reports them calls it."""
        self._when_reported.append(when_reported)
        if self.ended_ns is not None:
            self._call_when_reported()

    def read(self) -> Sequence[np.ndarray] | None:
        """Read the further results when the call is over; return None if the call failed.

        The error goes to the code that waits for the call's outputs.
        """
        try:
            return read(self._arrays)
        except RuntimeError as error:  # From JAX, see `settle`.
            self._error = error
            return None

    def reported(self, ended_ns: int) -> None:
        """Note that the events have been reported, the last one at `ended_ns`."""
        self._arrays, self.ended_ns = (), ended_ns
        self._call_when_reported()

    def _call_when_reported(self) -> None:
        # Another thread may report at the same time: the one that pops the function calls it.
        with contextlib.suppress(IndexError):
            self._when_reported.pop()(self._error)


HandOver = Callable[[Callable[[PendingResult], object] | None], PendingResult]
"""Adds the further results of a call to the backlog. Its argument is called with them before any thread can report them."""


class Backlog:
    """The calls with events that are not yet reported, in the order of the calls. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._added: deque[PendingResult] = deque()
        """Calls not yet in `_waiting`: to add one takes no lock, so that the program never waits."""
        self._waiting: list[PendingResult] = []
        self._steps: deque[Callable[[], None]] = deque()
        """The remaining steps of a report: an interrupt may come between two of them."""
        self._reported_ns = self._over = 0

    def add(self, handed: PendingResult) -> None:
        """Add a call."""
        self._added.append(handed)
        if len(self._added) > MANY:
            self.report()

    def over(self, *, is_awaited: bool) -> bool:
        """Count a call that is over; report if it `is_awaited` or `SOME` are over. Return whether it was reported."""
        self._over += 1
        if not is_awaited and self._over < SOME:
            return False
        self.report()
        return True

    def report(self) -> None:
        """Report the events of finished calls, except calls after an unfinished one of the same program."""
        with self._lock:
            self._over = 0
            self._take_in()
            for calls in _alike(self._all_over()):
                self._steps += self._reports(calls)
                self._waiting = [handed for handed in self._waiting if handed not in calls]
            while self._steps:
                self._steps.popleft()()

    def _all_over(self) -> list[PendingResult]:
        going_on: set[object] = set()
        over: list[PendingResult] = []
        for handed in self._waiting:
            if handed.program in going_on or not handed.is_ready():
                going_on.add(handed.program)
            else:
                over.append(handed)
        return over

    def _reports(self, calls: Collection[PendingResult]) -> Iterator[Callable[[], None]]:
        """Yield the steps that report `calls`: successive calls of one program by one thread."""
        ends = {handed: (handed.read(), self._end_of(handed)) for handed in calls}
        reporting, thread = next((handed.reporting, handed.thread) for handed in calls)
        succeeded = [
            (values, end_ns + 1 - len(reporting.lines)) for values, end_ns in ends.values() if values is not None
        ]
        if succeeded:
            results = [*zip(*(values for values, _ in succeeded), strict=True)]
            yield from reporting.reports([time_ns for _, time_ns in succeeded], thread, results)
        for handed, (_, end_ns) in ends.items():
            yield partial(handed.reported, end_ns)

    def _end_of(self, handed: PendingResult) -> int:
        """Return the time of a call's last event.

        No two calls share a time, so each event's time identifies its call.
        """
        over_ns = handed.over_ns or time.perf_counter_ns()
        self._reported_ns = max(over_ns, self._reported_ns + 1 + len(handed.reporting.lines))
        return self._reported_ns

    def wait_for(self, last: PendingResult) -> None:
        """Wait until the call `last` and those before it are over.

        Raises:
          Exception: the error of its program.
        """
        with self._lock:
            self._take_in()
            place = self._waiting.index(last) if last in self._waiting else 0  # Another thread may have reported it.
            before = [handed for handed in self._waiting[:place] if handed.over_ns is None]
        for handed in before:
            handed.settle()
        last.wait()

    def _take_in(self) -> None:
        while self._added:
            self._waiting.append(self._added.popleft())


def _alike(calls: Sequence[PendingResult]) -> Iterator[dict[PendingResult, None]]:
    """Yield groups of successive calls of one program by one thread."""
    for _, group in itertools.groupby(calls, key=lambda handed: (id(handed.program), handed.thread)):
        yield dict.fromkeys(group)
