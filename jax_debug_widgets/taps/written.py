"""Collect the firings that loops write into rings instead of calling Python, as far as their switches record them."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets._jax.passes.ring_records import Records, RingPart, RingRecords, together
from jax_debug_widgets.events.inbox import COUNTED, Inbox

if TYPE_CHECKING:
    from jax_debug_widgets.events import Bundle, Tap
    from jax_debug_widgets.taps.gate import Gate
    from jax_debug_widgets.taps.sites import Switch


class TapWriter:
    """Adds the rings of a tap, or of several taps together, to the inbox. It is a `Writer`.

    Attributes:
      gate: see `Gate.word`.
    """

    def __init__(self, tap: Tap | Bundle, inbox: Inbox, gate: Gate, switch: Switch | None) -> None:
        self._tap, self._inbox, self.gate, self._switch = tap, inbox, gate.word, switch

    def draw_from(self, source: RingRecords | RingPart) -> None:
        """See `Writer`."""
        self._inbox.draw_from(self._tap, source if self._switch is None else _Switched(source, self._switch))


def writer(tap: Tap | Bundle, inbox: Inbox, gate: Gate, switch: Switch | None = None) -> TapWriter | None:
    """Make the writer for a tap; None if each firing must call Python.

    Firings call Python outside loops, where few come; on meshes, where the gate counts devices; and for large values.

    Args:
      switch: selects the firings that are recorded; None to record all.
    """
    nesting = tap.nesting
    if not nesting.loops or nesting.axes or nesting.replicas > 1 or nesting.in_parts or tap.nbytes >= COUNTED:
        return None
    return TapWriter(tap, inbox, gate, switch)


class _Switched:
    """The firings of a tap in a ring, without those that its switch drops. It is a `FiringSource`, safe from any thread."""

    def __init__(self, written: RingRecords | RingPart, switch: Switch) -> None:
        self._written, self._switch = written, switch
        self._settled: list[Records] = []
        self._lock = threading.Lock()
        switch.written.add(self)

    def __len__(self) -> int:
        return len(self._written) + sum(len(times) for times, _, _ in self._settled)

    def take(self, until_ns: int) -> Records | None:
        """See `FiringSource`."""
        with self._lock:
            parts, self._settled = [*self._settled, *self._wanted(until_ns)], []
        return together(parts)

    @property
    def is_over(self) -> bool:
        """See `FiringSource`."""
        return self._written.is_over and not self._settled

    def settle(self) -> None:
        """Read the firings written so far, and select them by the switch before it changes."""
        with self._lock:
            self._settled += self._wanted(time.perf_counter_ns())

    def _wanted(self, until_ns: int) -> list[Records]:
        found = self._written.take(until_ns)
        if found is None or self._switch.is_plain:
            return [] if found is None else [found]
        times, threads, columns = found
        chosen = np.array([self._switch.takes(1) for _ in times], bool)
        return [(times[chosen], threads[chosen], [column[chosen] for column in columns])] if chosen.any() else []
