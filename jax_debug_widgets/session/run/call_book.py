"""The records of the calls of one run: which there are, how far each has come, what has fired for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from jax_debug_widgets._jax.running.dispatch import is_of_effects
from jax_debug_widgets._jax.running.running_programs import may_have_run
from jax_debug_widgets.events import Call, FiringBatch, Tap
from jax_debug_widgets.events.errors import error_line
from jax_debug_widgets.session.run.call_sequences import CallSequences
from jax_debug_widgets.session.run.executions import Executions
from jax_debug_widgets.session.run.in_flight import InFlight
from jax_debug_widgets.session.run.preparations import Preparations

if TYPE_CHECKING:
    from jax_debug_widgets.breakpoints import Policy
    from jax_debug_widgets.session.run.record import CallRecord

MAX_CALLS = 10_000
"""Calls that are kept; of older ones only the number."""


class CallBook:
    """The calls of one run, in the order in which they began. For one thread at a time: `CallLog` has the lock.

    Nothing here looks at all calls: a training loop makes millions.

    Attributes:
      leading: what the cell is about: its first call of a program that can say something, or else its first.
      pending: the calls whose effects have not drained, the oldest first.
      has_effects: whether there was a program that can say something.
      has_failed: whether a call has failed, other than by its user's will.
      effects_have_failed: whether one of these was of a program with effects that had been dispatched, not one that JAX
        refused before.
      preparations: what was done for calls that are not known yet.
    """

    def __init__(self, policy: Policy) -> None:
        self.leading: CallRecord | None = None
        self.pending: dict[int, CallRecord] = {}
        self.has_effects = self.has_failed = self.effects_have_failed = False
        self.preparations = Preparations()
        self._policy = policy
        self._records: dict[int, CallRecord] = {}
        self._alive: WeakValueDictionary[int, CallRecord] = WeakValueDictionary()
        """Those, and older ones that somebody still has: what fires for them counts until it has been compared."""
        self._count = 0
        self._versions: dict[int, int] = {}
        """Call -> the version in which it last changed, the newest last."""
        self._version = 0
        self._in_flight = InFlight()
        self._ready: dict[int, int] = {}
        """Thread -> when the outputs of its calls were last there."""
        self._flights = CallSequences()
        self._executions = Executions()
        self._drained: deque[CallRecord] = deque()
        """Calls that have drained and have not been compared with what their programs say."""

    @property
    def dropped(self) -> int:
        """How many calls are no longer kept."""
        return self._count - len(self._records)

    @property
    def newest(self) -> int:
        """The id of the call that began last; -1 before the first."""
        return self._count - 1

    def program_of(self, call: int) -> tuple[str, Any]:
        """The name of the function that a call is of, and the program that it has run; None where that is not known or gone.

        Raises:
          LookupError: the call is no longer kept.
        """
        record = self._records.get(call)
        if record is None:
            msg = f"Call {call} is no longer kept."
            raise LookupError(msg)
        return record.function or record.name, record.program() or self._only_program_of(record)

    def _only_program_of(self, record: CallRecord) -> Any:
        """The program of a silent call that C++ has dispatched: that of an earlier call, if C++ has no other."""
        function = record.callee()
        if function is None or record.executed or record.error:
            return None
        before = (one for one in self._records.values() if one.id < record.id and one.callee() is function)
        programs = {id(program): program for one in before if (program := one.program()) is not None}
        only = next(iter(programs.values())) if len(programs) == 1 else None
        return only if only is not None and may_have_run(function, only) else None

    def changed(self, since: int) -> tuple[list[Call], int]:
        """The kept calls that changed after version `since`, in the order in which they began, and the version now."""
        changed = []
        for number in reversed(self._versions):
            if self._versions[number] <= since:
                break
            changed.append(number)
        return [self._records[number].frozen() for number in sorted(changed)], self._version

    def add(self, record: CallRecord) -> None:
        """A call has begun."""
        record.id = self._count
        self._records[record.id] = self._alive[record.id] = record
        self._count += 1
        if record.origin == "cell":
            self.leading = self.leading or record
        self.touch(record)

    def dispatching(self, record: CallRecord, function: str, ordered: bool, taps: Sequence[Tap]) -> None:
        """The program of a call that says something is being dispatched."""
        record.function, record.taps = function, taps
        self.preparations.hand_over(record)
        if record.origin == "library":  # It is seen only now that it has been compiled.
            record.started_ns -= int(sum(record.stages.values()) * 1e9)
        elif not (self.leading and self.leading.effects):
            self.leading = record
        record.effects, record.ordered = True, ordered
        self.has_effects = True
        self.pending[record.id] = record
        self._in_flight.add(record)
        self._executions.dispatching(record.id, taps)
        self.touch(record)

    def fail(self, record: CallRecord, error: BaseException | None, at_ns: int) -> None:
        """A call has raised: `error`, if it is known."""
        record.end(at_ns)
        if record.error:
            return
        if error is not None and self._policy.ends(error):
            record.outcome = self._policy.halted or "interrupted"
            record.error = self._policy.ended or error_line(error)
        else:
            record.error = error_line(error) if error else "raised an exception"
            self.has_failed = True
            self.effects_have_failed |= record.effects and is_of_effects(error)
        self.touch(record)

    def ready(self, record: CallRecord, at_ns: int) -> None:
        """The outputs of a call are there, if that was not known. Until those before it were its program had to wait."""
        if record.ready_ns is None:
            record.ready_ns, before = at_ns, self._ready.get(record.ident, 0)
            record.queued_ns = min(before, at_ns)
            self._ready[record.ident] = max(before, at_ns)
            record.flight = self._flights.over(record, at_ns)
        self.touch(record)

    def drain(self, record: CallRecord, at_ns: int) -> None:
        """All effects of a call have come."""
        record.drained_ns = at_ns
        record.end(at_ns)
        if record.taps and not record.error:
            self._drained.append(record)
        self.touch(record)

    def take_drained(self) -> Iterable[CallRecord]:
        """The calls that have drained since this was last asked."""
        drained, self._drained = self._drained, deque()
        return drained

    def attribute(self, times_ns: np.ndarray, batch: FiringBatch) -> tuple[np.ndarray, dict[int, int]]:
        """See `InFlight`, and `mixed` there."""
        calls = self._in_flight.attribute(times_ns, batch)
        mixed, self._in_flight.mixed = self._in_flight.mixed, {}
        return calls, mixed

    def executions(self, calls: np.ndarray, batch: FiringBatch) -> np.ndarray:
        """See `Executions.of`."""
        return self._executions.of(batch, calls)

    def count(self, calls: np.ndarray, batch: FiringBatch) -> None:
        """Add firings to their calls (int64, one a firing)."""
        kinds = len(batch.taps)
        pairs, counts = np.unique(calls * kinds + batch.tap, return_counts=True)
        changed: dict[int, CallRecord] = {}
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            call, number = divmod(pair, kinds)
            record, tap = self._alive.get(call), batch.taps[number]
            if record is not None:
                record.events += count * tap.size
                record.fired[tap] += count
                changed[call] = record
        for record in changed.values():
            self.touch(record)

    def touch(self, record: CallRecord) -> None:
        """A call has changed."""
        if not record.pending:
            self.pending.pop(record.id, None)
        if record.id in self._records:
            self._version += 1
            self._versions.pop(record.id, None)
            self._versions[record.id] = self._version
        while len(self._records) > MAX_CALLS and (oldest := next(iter(self._records))) not in self.pending:
            del self._records[oldest], self._versions[oldest]
