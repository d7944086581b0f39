"""Find the call that an event belongs to: the call that was executing at the time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jax_debug_widgets._jax.compat.processes import ProcessShare
    from jax_debug_widgets.events import FiringBatch, Tap
    from jax_debug_widgets.session.run.record import CallRecord

_NEVER = np.iinfo(np.int64).max


class InFlight:
    """Holds the calls with effects that may still get events, oldest first. It uses no lock.

    Attributes:
      mixed: site id -> the newest call with events of this site that came among those of another thread's call. It is not known
        which of the two calls has fired, and how often. Whoever reads it replaces it by an empty table.
    """

    def __init__(self) -> None:
        self._records: deque[CallRecord] = deque()
        self.mixed: dict[int, int] = {}

    def add(self, record: CallRecord) -> None:
        """Add a call that is being dispatched."""
        self._records.append(record)

    def attribute(self, times_ns: np.ndarray, batch: FiringBatch) -> np.ndarray:
        """Return for each firing the id of the call that was executing, int64[n]; -1 if there was none.

        On one CPU device, a call fires in the thread that makes it. So a firing in a thread that calls JAX belongs to the call
        that this thread was dispatching. A device runs its programs one after the other, so with several calls in flight the
        oldest one is executing. But another thread notes its end, perhaps late. So no call gets more firings than its program
        has.

        Args:
          times_ns: int64[n], times of the firings since the run started; none much before those of the last call.
          batch: the firings.
        """
        records, earliest = self._records, times_ns.min(initial=_NEVER)
        while records and (records[0].over_ns or _NEVER) < earliest:
            records.popleft()
        calls = _being_dispatched(records, times_ns, batch)
        for own, fired in _by_thread(list(records), batch.threads, calls < 0):
            times, spans = times_ns[fired], _Spans(own)
            executing = spans.oldest_at(times)
            calls[fired] = spans.ids_of(executing)
            if spans.overlap and not _has_room(own, executing, batch.taps, batch.tap[fired]):
                for number, tap in enumerate(batch.taps):
                    chosen = batch.firings_of(number)
                    chosen = chosen[fired[chosen]]
                    if chosen.size and tap.nesting.stride == 1:  # Otherwise not each iteration fires.
                        calls[chosen] = self._by_count(own, tap, times_ns[chosen])
        return calls

    def _by_count(self, records: Sequence[CallRecord], tap: Tap, times: np.ndarray) -> np.ndarray:
        """Return the call of each firing of one tap, by counting firings among the calls of programs that have the tap."""
        records = [record for record in records if tap in record.taps]
        spans, position = _Spans(records), 0
        calls = spans.ids_of(spans.oldest_at(times))
        _note_meetings(records)
        if any(record.has_met for record in records):
            unknown = np.isin(calls, [record.id for record in records if record.has_met]) & (spans.count_at(times) > 1)
            calls[unknown] = -1
            if unknown.any():
                self.mixed[tap.site.id] = max(record.id for record in records)
            records = [record for record in records if not record.has_met]
        quotas = [quota for record in records if (quota := tap.nesting.firings_in(record.share)) is not None]
        if len(quotas) < len(records):
            return calls
        for record, quota in zip(records, quotas, strict=True):
            first = max(position, int(np.searchsorted(times, record.launched_ns)))
            last = int(np.searchsorted(times, record.over_ns or _NEVER, side="right"))
            last = min(last, first + max(quota - record.fired.get(tap, 0), 0))
            if last > first:
                calls[first:last] = record.id
                position = last
        return calls


class _Spans:
    """Holds the times at which each of these calls began and ended to execute."""

    def __init__(self, records: Sequence[CallRecord]) -> None:
        self._ids = np.array([*(record.id for record in records), -1], np.int64)
        self._starts = np.array([*(record.launched_ns for record in records), _NEVER], np.int64)
        self._own_ends = ends = np.array([*(record.over_ns or _NEVER for record in records), _NEVER], np.int64)
        # The ends never decrease, so the first call that has not ended is the oldest one.
        self._ends = np.maximum.accumulate(ends)

    def oldest_at(self, times: np.ndarray) -> np.ndarray:
        """Return the index of the oldest call that was executing at each time, int64[n]; -1 for none."""
        first = np.searchsorted(self._ends[:-1], times, side="left")
        return np.where(self._starts[first] <= times, first, -1)

    def count_at(self, times: np.ndarray) -> np.ndarray:
        """Return how many calls were executing at each time, int64[n]."""
        started = np.searchsorted(np.sort(self._starts), times, side="right")
        return started - np.searchsorted(np.sort(self._own_ends), times, side="left")

    def ids_of(self, indices: np.ndarray) -> np.ndarray:
        """Return the ids of the calls at these indices; -1 for -1."""
        return self._ids[indices]

    @property
    def overlap(self) -> bool:
        """Whether a call began before an older one was over."""
        return bool((self._starts[1:-1] < self._ends[:-2]).any())


def _has_room(records: Sequence[CallRecord], executing: np.ndarray, taps: Sequence[Tap], tap: np.ndarray) -> bool:
    """Whether these calls of one thread may have all these firings: no tap fires more often than its program says.

    Args:
      records: the calls.
      executing: int64[n], the index of each firing's call; -1 for none.
      tap: int64[n], the index of each firing's tap in `taps`.
    """
    if len({record.ident for record in records}) > 1 or any(record.has_met for record in records):
        return False
    known = executing >= 0
    counts = np.bincount(executing[known] * len(taps) + tap[known], minlength=len(records) * len(taps))
    room = _quotas_of(records, taps)
    for index, record in enumerate(records):
        if record.fired:
            room[index] -= [record.fired.get(one, 0) for one in taps]
    return bool((counts.reshape(room.shape) <= room).all())


def _quotas_of(records: Sequence[CallRecord], taps: Sequence[Tap]) -> np.ndarray:
    """Return the most firings of each of these taps in each of these calls, int64[calls, taps]."""
    programs = {(id(record.taps), record.share): _quotas(record.taps, record.share, taps) for record in records}
    return np.stack([programs[id(record.taps), record.share] for record in records])


def _quotas(program: Sequence[Tap], share: ProcessShare | None, taps: Sequence[Tap]) -> np.ndarray:
    """Return the most firings of each of these taps in a call of a program, int64[taps]."""
    own = set(program)
    firings = (tap.nesting.firings_in(share) if tap in own else 0 for tap in taps)
    return np.array([_NEVER if count is None else count for count in firings], np.int64)


def _being_dispatched(records: Iterable[CallRecord], times: np.ndarray, batch: FiringBatch) -> np.ndarray:
    """Return the id of the call that each firing's thread was dispatching, int64[n]; -1 if that call cannot have fired then.

    A call that hands its events over at its end may execute while its thread dispatches a call that fires directly.
    """
    calls = np.full(len(batch), -1)
    if not batch.threads.any():
        return calls
    handed_programs = {id(record.taps) for record in records if record.is_handed}
    by_start = sorted(
        (record for record in records if id(record.taps) not in handed_programs), key=lambda record: record.launched_ns
    )
    if not by_start:
        return calls
    handed_until: dict[int, int] = {}
    reported: set[Tap] = set()
    for record in records:
        if id(record.taps) in handed_programs:
            handed_until[record.ident] = max(handed_until.get(record.ident, 0), record.over_ns or _NEVER)
            reported.update(record.taps)
    is_reported = np.array([tap in reported for tap in batch.taps], bool)
    for ident in {record.ident for record in by_start}:
        own, fired = [record for record in by_start if record.ident == ident], np.flatnonzero(batch.threads == ident)
        ids, starts, returns = np.array(
            [(record.id, record.launched_ns, record.dispatched_ns or _NEVER) for record in own]
        ).T
        latest, callers = np.searchsorted(starts, times[fired], side="right") - 1, _callers(starts, returns)
        while (is_over := (latest >= 0) & (times[fired] > returns[latest])).any():
            latest[is_over] = callers[latest[is_over]]
        is_known = latest >= 0
        is_known &= _quotas_of(own, batch.taps)[latest, batch.tap[fired]] > 0
        is_known &= ~is_reported[batch.tap[fired]] | (times[fired] > handed_until.get(ident, -1))
        calls[fired[is_known]] = ids[latest[is_known]]
    return calls


def _callers(starts: np.ndarray, returns: np.ndarray) -> np.ndarray:
    """Return for each call of a thread, in order, the call with the host function that made it; -1 for none."""
    callers = np.full(len(starts), -1)
    for number in range(1, len(starts)) if (starts[1:] < returns[:-1]).any() else ():
        outer = number - 1
        while outer >= 0 and returns[outer] < starts[number]:
            outer = callers[outer]
        callers[number] = outer
    return callers


def _by_thread(
    records: Sequence[CallRecord], threads: np.ndarray, wanted: np.ndarray
) -> Iterator[tuple[Sequence[CallRecord], np.ndarray]]:
    """Yield calls with the firings, bool[n], that they may have: calls of the firing's thread, if this thread makes calls."""
    elsewhere = wanted
    if threads.any():
        for ident in {record.ident for record in records}:
            here = wanted & (threads == ident)
            elsewhere = elsewhere & ~here
            yield [record for record in records if record.ident == ident], here
    yield records, elsewhere


def _note_meetings(records: Sequence[CallRecord]) -> None:
    """Mark the calls with firings that cannot be told apart: they overlap with a call of another thread, or a marked one."""
    idents = np.array([record.ident for record in records])
    if not ((idents != idents[:1]).any() or any(record.has_met for record in records)):
        return  # A loop may have thousands of calls in flight.
    starts = np.array([record.launched_ns for record in records])
    ends = np.array([record.over_ns or _NEVER for record in records])
    met = np.array([record.has_met for record in records])
    for ident in set(idents.tolist()) if (idents != idents[:1]).any() else ():
        own, others = idents == ident, idents != ident
        in_order = np.argsort(starts[others])
        began, latest_end = starts[others][in_order], np.maximum.accumulate(ends[others][in_order])
        before_end = np.searchsorted(began, ends[own], side="right") - 1
        met[own] |= (before_end >= 0) & (latest_end[before_end] >= starts[own])
    end = -1
    for number in np.argsort(starts, kind="stable"):
        records[number].has_met = bool(met[number] or starts[number] <= end)
        end = max(end, ends[number]) if records[number].has_met else end
