"""Which call an event belongs to: the one that was executing at the time."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jax_debug_widgets.session.record import Record

_NEVER = np.iinfo(np.int64).max


class InFlight:
    """Calls with effects whose events may not have been taken in yet, oldest first. Not locked."""

    def __init__(self) -> None:
        self._records: deque[Record] = deque()

    def add(self, record: Record) -> None:
        """It is being dispatched."""
        self._records.append(record)

    def attribute(self, times_ns: np.ndarray) -> np.ndarray:
        """For each time, the id of the call that was executing: the oldest with effects, if there are several; else -1.

        A device runs its programs one after the other, so with several in flight the oldest is the one at work.

        Args:
          times_ns: int64[n], since the run started; none much before those of the last time.
        """
        records, earliest = self._records, times_ns.min(initial=_NEVER)
        while records and (records[0].over_ns or _NEVER) < earliest:
            records.popleft()
        if not records:
            return np.full(len(times_ns), -1)
        starts = np.array([record.started_ns for record in records], np.int64)
        ends = np.array([record.over_ns or _NEVER for record in records], np.int64)
        ids = np.array([record.id for record in records], np.int64)
        # A call's end is never before that of an older one here, so the first that has not ended is the oldest.
        first = np.searchsorted(np.maximum.accumulate(ends), times_ns, side="left")
        inside = np.minimum(first, len(records) - 1)
        found = (first < len(records)) & (starts[inside] <= times_ns)
        return np.where(found, ids[inside], -1)
