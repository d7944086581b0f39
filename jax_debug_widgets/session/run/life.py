"""Track how far a run has come: its program returns, then its effects drain, and it is over."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jax_debug_widgets.events import Barrier, BarrierState, RunState

if TYPE_CHECKING:
    from jax_debug_widgets.breakpoints import Policy
    from jax_debug_widgets.session.options import Options
    from jax_debug_widgets.session.run.calls import CallLog

_MOST_WAITS = 200
"""The most waits for effects that are kept for the timeline."""

_RATE_OVER_S = 1.0
"""Seconds over which the rate of events is averaged."""


class Life:
    """Holds the times of one run, and tells its state.

    Attributes:
      started: seconds since the epoch.
      origin_ns: the same moment in ns of `perf_counter_ns`.
    """

    def __init__(self, options: Options) -> None:
        self.started = time.time()
        self.origin_ns = time.perf_counter_ns()
        self._options = options
        self._arrivals: deque[tuple[float, int]] = deque([(self.started, 0)])
        self._returned_at: float | None = None
        self._ended_at: float | None = None
        self._gave_up = False
        self.error = ""
        """The error that the program has raised, in a line; empty if it has not failed."""
        self.raised_at = ""
        """Where the user's code raised it, ` at In [2]:4`."""
        self._waits: deque[list[float | None]] = deque(maxlen=_MOST_WAITS)

    def returned(self, error: str, raised_at: str = "") -> None:
        """Note that the program has returned, raised `error`, or was ended. Its effects may still be pending."""
        self._returned_at = time.time()
        self.error, self.raised_at = error, raised_at

    @property
    def has_returned(self) -> bool:
        """Whether the captured code is over. Its effects may still be pending."""
        return self._returned_at is not None

    def gave_up(self) -> None:
        """Note that the wait at the barrier was given up."""
        self._gave_up = True

    def is_over(self, calls: CallLog) -> bool:
        """Whether nothing more can happen: the program has returned and its effects have drained."""
        over = self.has_returned and not calls.pending()
        if over and self._ended_at is None:
            self._ended_at = time.time()
        return over

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Note that the body waits for the effects."""
        wait: list[float | None] = [self._since_start(), None]
        self._waits.append(wait)
        try:
            yield
        finally:
            wait[1] = self._since_start()

    def elapsed(self) -> float:
        """Seconds from the start of the run to its end, or until now."""
        return (self._ended_at or time.time()) - self.started

    def state(self, calls: CallLog, policy: Policy) -> RunState:
        """Return the state of the run: what it does now, or how it has ended."""
        if not self.has_returned:
            return "running"
        if calls.pending():
            return "waiting"
        if self.error:
            return "failed"
        if policy.ended is not None and policy.halted is not None:
            return policy.halted
        return "failed" if calls.has_failed else "done"

    def barrier(self, calls: CallLog) -> Barrier:
        """Return the state of the run's effects barrier."""
        pending = calls.pending()
        waited = 0.0 if self._returned_at is None else (self._ended_at or time.time()) - self._returned_at
        return Barrier(
            state=self._barrier_state(calls, pending=bool(pending)),
            pending=tuple(record.name for record in pending),
            waited=waited,
            timeout=self._options.timeout,
            waits=tuple((start or 0.0, end) for start, end in list(self._waits)),
        )

    def _barrier_state(self, calls: CallLog, *, pending: bool) -> BarrierState:
        if pending:
            return "timeout" if self._gave_up else "pending"
        if not calls.has_effects:
            return "idle" if self._options.barrier else "off"
        return "failed" if calls.effects_have_failed else "drained"

    def rate(self, count: int) -> float:
        """Return events a second: over the last second, or over the whole time of an ended run. `count` is all events."""
        if self._ended_at is not None:
            return count / max(self._ended_at - self.started, 1e-9)
        now, arrivals = time.time(), self._arrivals
        arrivals.append((now, count))
        while now - arrivals[1][0] > _RATE_OVER_S:
            arrivals.popleft()
        then, before = arrivals[0]
        return (count - before) / max(now - then, 1e-3)

    def _since_start(self) -> float:
        return (time.perf_counter_ns() - self.origin_ns) * 1e-9
