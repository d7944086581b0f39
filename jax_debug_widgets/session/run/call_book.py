"""Keep the records of the calls of one run: how far each has come, and how often its taps have fired."""

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
"""The most calls that are kept; older ones are only counted."""


class CallBook:
    """Holds the calls of one run in the order in which they began. One thread at a time may use it: `CallLog` has the lock.

    No method looks at all calls, because a training loop makes millions.

    Attributes:
      leading: the call that gives the run its title: the cell's first call of a program with effects, or else its first call.
      pending: the calls with effects that have not happened, oldest first.
      has_effects: whether a program with effects was called.
      has_failed: whether a call has failed, and not because the user ended it.
      effects_have_failed: whether a dispatched program with effects has failed, and not one that JAX refused before.
      preparations: the tracing and compiling for calls that are not known yet.
    """

    def __init__(self, policy: Policy) -> None:
        self.leading: CallRecord | None = None
        self.pending: dict[int, CallRecord] = {}
        self.has_effects = self.has_failed = self.effects_have_failed = False
        self.preparations = Preparations()
        self._policy = policy
        self._records: dict[int, CallRecord] = {}
        self._alive: WeakValueDictionary[int, CallRecord] = WeakValueDictionary()
        """The kept records, and older ones that are still referenced: their firings count until they are compared."""
        self._count = 0
        self._versions: dict[int, int] = {}
        """Call -> the version in which it last changed, the newest last."""
        self._version = 0
        self._in_flight = InFlight()
        self._ready: dict[int, int] = {}
        """Thread -> when the outputs of one of its calls last became ready."""
        self._flights = CallSequences()
        self._executions = Executions()
        self._drained: deque[CallRecord] = deque()
        """Calls that have drained, and were not compared with their programs' text yet."""

    @property
    def dropped(self) -> int:
        """The number of calls that are no longer kept."""
        return self._count - len(self._records)

    @property
    def newest(self) -> int:
        """The id of the call that began last; -1 before the first."""
        return self._count - 1

    def program_of(self, call: int) -> tuple[str, Any]:
        """Return the name of a call's function, and the program that the call ran; None if it is not known or gone.

        Raises:
          LookupError: the call is no longer kept.
        """
        record = self._records.get(call)
        if record is None:
            msg = f"Call {call} is no longer kept."
            raise LookupError(msg)
        return record.function or record.name, record.program() or self._only_program_of(record)

    def _only_program_of(self, record: CallRecord) -> Any:
        """Return the program of a silent call that C++ dispatched: the one of earlier calls, if they had only one."""
        function = record.callee()
        if function is None or record.executed or record.error:
            return None
        before = (one for one in self._records.values() if one.id < record.id and one.callee() is function)
        programs = {id(program): program for one in before if (program := one.program()) is not None}
        only = next(iter(programs.values())) if len(programs) == 1 else None
        return only if only is not None and may_have_run(function, only) else None

    def changed(self, since: int) -> tuple[list[Call], int]:
        """Return the kept calls that changed after version `since`, in the order of their begin, and the present version."""
        changed = []
        for number in reversed(self._versions):
            if self._versions[number] <= since:
                break
            changed.append(number)
        return [self._records[number].frozen() for number in sorted(changed)], self._version

    def add(self, record: CallRecord) -> None:
        """Add a call that begins."""
        record.id = self._count
        self._records[record.id] = self._alive[record.id] = record
        self._count += 1
        if record.origin == "cell":
            self.leading = self.leading or record
        self.touch(record)

    def dispatching(self, record: CallRecord, function: str, ordered: bool, taps: Sequence[Tap]) -> None:
        """Note that the program of a call is being dispatched; the program has effects."""
        record.function, record.taps = function, taps
        self.preparations.hand_over(record)
        if record.origin == "library":  # Such a call is noticed only after its compilation.
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
        """Note that a call has raised; `error` is None if the exception is not known."""
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
        """Note that the outputs of a call are ready. Its program had to wait until the calls before it were ready."""
        if record.ready_ns is None:
            record.ready_ns, before = at_ns, self._ready.get(record.ident, 0)
            record.queued_ns = min(before, at_ns)
            self._ready[record.ident] = max(before, at_ns)
            record.flight = self._flights.over(record, at_ns)
        self.touch(record)

    def drain(self, record: CallRecord, at_ns: int) -> None:
        """Note that all effects of a call have happened."""
        record.drained_ns = at_ns
        record.end(at_ns)
        if record.taps and not record.error:
            self._drained.append(record)
        self.touch(record)

    def take_drained(self) -> Iterable[CallRecord]:
        """Return the calls that have drained since the last call of this method."""
        drained, self._drained = self._drained, deque()
        return drained

    def attribute(self, times_ns: np.ndarray, batch: FiringBatch) -> tuple[np.ndarray, dict[int, int]]:
        """See `InFlight.attribute` and `InFlight.mixed`."""
        calls = self._in_flight.attribute(times_ns, batch)
        mixed, self._in_flight.mixed = self._in_flight.mixed, {}
        return calls, mixed

    def executions(self, calls: np.ndarray, batch: FiringBatch) -> np.ndarray:
        """See `Executions.of`."""
        return self._executions.of(batch, calls)

    def count(self, calls: np.ndarray, batch: FiringBatch) -> None:
        """Add firings to their calls; `calls` is int64[firings]."""
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
        """Note that a call has changed."""
        if not record.pending:
            self.pending.pop(record.id, None)
        if record.id in self._records:
            self._version += 1
            self._versions.pop(record.id, None)
            self._versions[record.id] = self._version
        while len(self._records) > MAX_CALLS and (oldest := next(iter(self._records))) not in self.pending:
            del self._records[oldest], self._versions[oldest]
