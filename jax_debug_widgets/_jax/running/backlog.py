"""What calls in flight will have said when they are over: results of theirs that somebody must look at."""

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
"""Calls; with more in the backlog the next one looks which of them are over."""

SOME = 32
"""Calls that are over and that nobody has looked at. That many are read together, in a tenth of the time."""

Heard = Callable[[Exception | None], None]


class PendingResult:
    """What one call says, which is there when it is over. JAX waits for it as for the token of any effect.

    Attributes:
      program: whose call it is; its calls are over in the order in which they were made.
      says: what it says, as results.
      thread: the ident of the thread that has made it.
      was_over: whether it was over when it was handed.
      over_ns: when it was seen to be over, `perf_counter_ns()`; None until then.
      ended_ns: the same where it has been told; no event of it is later.
    """

    __slots__ = (
        "_arrays",
        "_backlog",
        "_error",
        "_heard",
        "ended_ns",
        "over_ns",
        "program",
        "says",
        "thread",
        "was_over",
    )

    def __init__(self, backlog: Backlog, program: object, says: ReportingProgram, arrays: Sequence[Any]) -> None:
        self.program, self.says = program, says
        # XLA runs a small program at once; what fires after it must not be told as if it had fired before.
        self.was_over = arrays[-1].is_ready()
        self.over_ns: int | None = time.perf_counter_ns() + len(says.lines) if self.was_over else None
        self.ended_ns: int | None = None
        self._backlog, self.thread = backlog, threading.get_ident()
        self._arrays: Sequence[Any] = arrays
        self._error: Exception | None = None
        self._heard: list[Heard] = []

    def is_ready(self) -> bool:
        """Whether the call is over; its results are there together."""
        return self.over_ns is not None or self._arrays[-1].is_ready()

    def block_until_ready(self) -> None:
        """Wait until it is over, and the calls before it.

        Raises:
          Exception: what the program raised.
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
        """The same, whatever becomes of it."""
        try:  # noqa: SIM105 - it would be three functions more.
            self.wait()
        except RuntimeError:  # JAX's; whoever waits for its outputs gets it. What a handler of signals raises goes on.
            pass

    def then(self, heard: Heard) -> None:
        """Call this with the program's error, or None, when it has been told: in whichever thread tells it, or at once."""
        self._heard.append(heard)
        if self.ended_ns is not None:
            self._call_who_heard()

    def read(self) -> Sequence[np.ndarray] | None:
        """What it says, when it is over; None if its program has failed: whoever waits for its outputs gets the error."""
        try:
            return read(self._arrays)
        except RuntimeError as error:  # JAX's, see `settle`.
            self._error = error
            return None

    def told(self, ended_ns: int) -> None:
        """It has been told; no event of it is later than that."""
        self._arrays, self.ended_ns = (), ended_ns
        self._call_who_heard()

    def _call_who_heard(self) -> None:
        # Another thread may tell while this one asks to be called: who takes it off calls.
        with contextlib.suppress(IndexError):
            self._heard.pop()(self._error)


class Backlog:
    """What has been handed and not told, in the order of the calls. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._added: deque[PendingResult] = deque()
        """The program does not wait for who holds the lock."""
        self._waiting: list[PendingResult] = []
        self._steps: deque[Callable[[], None]] = deque()
        """What is left to do of those that are being told: an interrupt may come meanwhile."""
        self._told_ns = self._over = 0

    def add(self, handed: PendingResult) -> None:
        """A call has been made."""
        self._added.append(handed)
        if len(self._added) > MANY:
            self.tell()

    def over(self, *, is_awaited: bool) -> bool:
        """One more call has been seen to be over; whether what they say has been told: if it is awaited, or they are some."""
        self._over += 1
        if not is_awaited and self._over < SOME:
            return False
        self.tell()
        return True

    def tell(self) -> None:
        """Tell what the calls say that are over, but for those after one of the same program that is not."""
        with self._lock:
            self._over = 0
            self._take_in()
            for calls in _alike(self._all_over()):
                self._steps += self._telling(calls)
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

    def _telling(self, calls: Collection[PendingResult]) -> Iterator[Callable[[], None]]:
        """The steps in which calls of one program are read, if one thread has made them one after the other."""
        said = {handed: (handed.read(), self._end_of(handed)) for handed in calls}
        says, thread = next((handed.says, handed.thread) for handed in calls)
        spoken = [(values, end_ns + 1 - len(says.lines)) for values, end_ns in said.values() if values is not None]
        if spoken:
            results = [*zip(*(values for values, _ in spoken), strict=True)]
            yield from says.tellings([time_ns for _, time_ns in spoken], thread, results)
        for handed, (_, end_ns) in said.items():
            yield partial(handed.told, end_ns)

    def _end_of(self, handed: PendingResult) -> int:
        """Until when it has said what it says. Two calls have no time in common: by its time each event finds its call."""
        over_ns = handed.over_ns or time.perf_counter_ns()
        self._told_ns = max(over_ns, self._told_ns + 1 + len(handed.says.lines))
        return self._told_ns

    def wait_for(self, last: PendingResult) -> None:
        """Wait until this call and those before it are over.

        Raises:
          Exception: what its program raised.
        """
        with self._lock:
            self._take_in()
            place = self._waiting.index(last) if last in self._waiting else 0  # Another thread may have told it.
            before = [handed for handed in self._waiting[:place] if handed.over_ns is None]
        for handed in before:
            handed.settle()
        last.wait()

    def _take_in(self) -> None:
        while self._added:
            self._waiting.append(self._added.popleft())


def _alike(calls: Sequence[PendingResult]) -> Iterator[dict[PendingResult, None]]:
    """Those of one program and thread that follow one another, together."""
    for _, group in itertools.groupby(calls, key=lambda handed: (id(handed.program), handed.thread)):
        yield dict.fromkeys(group)
