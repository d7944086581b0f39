"""How long programs ran, where that can be told: one call by itself, or several calls of one program together.

A device runs them one by one, but when each was over another thread notes, and that may be late: several are often noted
together. And what JAX's C++ dispatches is seen only after that. What is known then is how long all of them took.
"""

from __future__ import annotations

from typing import Protocol

_FEW = 4
"""Calls; of so many together the mean hardly hangs on when the first was seen."""

_GAP = 0.25
"""The share of a call's observed time that may pass after the call before it without being a pause."""


class Timed(Protocol):
    """A call, as far as its time needs it."""

    @property
    def ident(self) -> int:
        """The thread that made it."""
        ...

    @property
    def function(self) -> str:
        """The function that was called."""
        ...

    @property
    def seen(self) -> str:
        """How its end was seen: `at once`, `late` or `over`."""
        ...

    @property
    def run_from_ns(self) -> int:
        """When it was dispatched."""
        ...


class CallSequence:
    """Calls of one program and thread that follow one another without a pause.

    Attributes:
      function: of the program.
      since_ns: when the first was dispatched.
      least: how many of them there must be, for their mean to be told.
      count: how many of them are over.
      ready_ns: when the last of these was.
      until_ns: the same of all calls, those of other programs included.
    """

    def __init__(self, record: Timed, ready_ns: int) -> None:
        self.function, self.is_of_one = record.function, True
        was_over = record.seen == "over"
        self.since_ns, self.count = (ready_ns, 0) if was_over else (record.run_from_ns, 1)
        self.least = 1 if record.seen == "at once" else _FEW
        self.ready_ns = self.until_ns = ready_ns

    def is_continued_by(self, record: Timed, ready_ns: int) -> bool:
        """Whether this call was in flight together with these, or as good as that."""
        pause = record.run_from_ns - self.until_ns
        return pause < 0 or (record.seen == "late" and pause <= _GAP * (ready_ns - record.run_from_ns))

    def join(self, record: Timed, ready_ns: int) -> bool:
        """It is over as well; whether it is one of these: what runs after another program is not told."""
        self.until_ns = max(self.until_ns, ready_ns)
        self.is_of_one = self.is_of_one and record.function == self.function
        if self.is_of_one:
            self.count, self.ready_ns = self.count + 1, max(self.ready_ns, ready_ns)
        return self.is_of_one

    @property
    def seconds(self) -> float | None:
        """The seconds that a call took, as their mean; None where they are too few."""
        return (self.ready_ns - self.since_ns) * 1e-9 / self.count if self.count >= self.least else None


class CallSequences:
    """The call sequences of each thread."""

    def __init__(self) -> None:
        self._latest: dict[int, CallSequence] = {}

    def over(self, record: Timed, ready_ns: int) -> tuple[CallSequence, int] | None:
        """The outputs of a call are there: its flight, and its number in that, from 1; None for none."""
        flight = self._latest.get(record.ident)
        if flight is not None and flight.is_continued_by(record, ready_ns):
            return (flight, flight.count) if flight.join(record, ready_ns) else None
        flight = self._latest[record.ident] = CallSequence(record, ready_ns)
        return (flight, 1) if flight.count else None
