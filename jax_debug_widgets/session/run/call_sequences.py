"""Measure how long programs ran: one call, or the mean of several calls of one program without a pause.

A device runs calls one by one. Another thread notes the end of each, perhaps late, and often of several calls at once. Calls
that JAX's C++ dispatches are noticed only after the dispatch. Then only the time of all these calls together is known.
"""

from __future__ import annotations

from typing import Protocol

_FEW = 4
"""The number of calls from which on their mean hardly depends on when the first one was noticed."""

_GAP = 0.25
"""The share of a call's observed time that may pass after the call before it without being a pause."""


class Timed(Protocol):
    """A call as the measurement uses it."""

    @property
    def ident(self) -> int:
        """The ident of the thread that made the call."""
        ...

    @property
    def function(self) -> str:
        """The function that was called."""
        ...

    @property
    def seen(self) -> str:
        """When the call was noticed: `at once`, `late` or `over`."""
        ...

    @property
    def run_from_ns(self) -> int:
        """When the call was dispatched."""
        ...


class CallSequence:
    """Calls of one program from one thread without a pause between them.

    Attributes:
      function: the function of the program.
      since_ns: when the first call was dispatched.
      least: the number of calls from which on their mean is known.
      count: the number of calls that are over.
      ready_ns: when the outputs of the last of these were ready.
      until_ns: when the outputs of the last call were ready, calls of other programs included.
    """

    def __init__(self, record: Timed, ready_ns: int) -> None:
        self.function, self.is_of_one = record.function, True
        was_over = record.seen == "over"
        self.since_ns, self.count = (ready_ns, 0) if was_over else (record.run_from_ns, 1)
        self.least = 1 if record.seen == "at once" else _FEW
        self.ready_ns = self.until_ns = ready_ns

    def is_continued_by(self, record: Timed, ready_ns: int) -> bool:
        """Whether a call belongs to the sequence: it was in flight together with the others, or nearly so."""
        pause = record.run_from_ns - self.until_ns
        return pause < 0 or (record.seen == "late" and pause <= _GAP * (ready_ns - record.run_from_ns))

    def join(self, record: Timed, ready_ns: int) -> bool:
        """Add a call that is over. Return whether its time is known: not after another program has run."""
        self.until_ns = max(self.until_ns, ready_ns)
        self.is_of_one = self.is_of_one and record.function == self.function
        if self.is_of_one:
            self.count, self.ready_ns = self.count + 1, max(self.ready_ns, ready_ns)
        return self.is_of_one

    @property
    def seconds(self) -> float | None:
        """The mean seconds of a call; None for too few calls."""
        return (self.ready_ns - self.since_ns) * 1e-9 / self.count if self.count >= self.least else None


class CallSequences:
    """Holds the newest call sequence of each thread."""

    def __init__(self) -> None:
        self._latest: dict[int, CallSequence] = {}

    def over(self, record: Timed, ready_ns: int) -> tuple[CallSequence, int] | None:
        """Note that the outputs of a call are ready. Return its sequence, and its number in it, from 1; None without one."""
        flight = self._latest.get(record.ident)
        if flight is not None and flight.is_continued_by(record, ready_ns):
            return (flight, flight.count) if flight.join(record, ready_ns) else None
        flight = self._latest[record.ident] = CallSequence(record, ready_ns)
        return (flight, 1) if flight.count else None
