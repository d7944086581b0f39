"""Record one call while it goes on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from jax_debug_widgets._jax.running.running_programs import Ran, unknown
from jax_debug_widgets.events import Call, CallState, Origin, Tap

if TYPE_CHECKING:
    from jax_debug_widgets._jax.compat.processes import ProcessShare
    from jax_debug_widgets._jax.running.backlog import PendingResult
    from jax_debug_widgets._jax.running.dispatch import Stage
    from jax_debug_widgets.session.run.call_sequences import CallSequence
    from jax_debug_widgets.session.run.trace_prints import PrintInCall


class CallRecord:
    """A call of `CallBook`. Only `CallLog` changes it; other rooms see its `frozen` form."""

    def __init__(self, name: str, function: str, origin: Origin, started_ns: int, thread: str, ident: int) -> None:
        self.name, self.function, self.started_ns = name, function, started_ns
        self.id = -1
        """The number of the call; `CallBook.add` sets it."""
        self.thread, self.ident = thread, ident
        self.origin: Origin = origin
        self.stages: dict[Stage, float] = {}
        self.launched_ns = started_ns
        """When its program was about to be dispatched. None of its events fires before."""
        self.seen: Literal["at once", "late", "over"] = "at once"
        """When the call was noticed: at its dispatch, after it (JAX's C++ dispatched it), or when it was over."""
        self.is_called_from_cell = False
        """Whether the call's begin was noticed in the cell, also if JAX's C++ dispatched it."""
        self.dispatched_ns: int | None = None
        self.ready_ns: int | None = None
        self.queued_ns = 0
        self.flight: tuple[CallSequence, int] | None = None
        """Its sequence, and its number in it, see `CallSequences`."""
        self.drained_ns: int | None = None
        self._over_ns: int | None = None
        self.at_end: Callable[[], None] | None = None
        """Called when its last event has fired."""
        self._handed: tuple[PendingResult, int] | None = None
        self.effects = self.ordered = self.executed = self.is_handed = False
        self.has_met = False
        """Whether its firings may belong to a call of another thread, see `InFlight`."""
        self.events = 0
        self.prints: list[str] = []
        self.error = ""
        self.retraced: str | None = None
        self.outcome: CallState = "failed"
        """The state of the call if there is an error."""
        self.callee: Callable[[], Any] = unknown
        """Returns the jitted function that the cell calls, while it exists."""
        self.program: Ran = unknown
        """Returns the program that it has run, while the program exists."""
        self.taps: Sequence[Tap] = ()
        """The taps of its program."""
        self.share: ProcessShare | None = None
        """The share of its program that this process runs; None for all of it."""
        self.fired: defaultdict[Tap, int] = defaultdict(int)
        """Tap -> how often it has fired, until the call is compared with its program's text."""

    @property
    def over_ns(self) -> int | None:
        """When its last event can have fired, for `InFlight`; earlier than `drained_ns`, which is noted later."""
        if self._over_ns is None and self._handed is not None:
            handed, origin_ns = self._handed
            if handed.ended_ns is not None:
                self._over_ns, self._handed = handed.ended_ns - origin_ns, None
        return self._over_ns

    @over_ns.setter
    def over_ns(self, over_ns: int | None) -> None:
        self._over_ns = over_ns

    def end(self, at_ns: int) -> None:
        """Note that its last event has fired; `at_ns` is used if no better time is known."""
        self.over_ns = self.over_ns or at_ns
        at_end, self.at_end = self.at_end, None
        if at_end is not None:
            at_end()

    def hand(self, handed: PendingResult, origin_ns: int) -> None:
        """Note that its prints come with its results when it is over. Times of the call are since `origin_ns`."""
        self.is_handed, self._handed = True, (handed, origin_ns)

    @property
    def run_from_ns(self) -> int:
        """When its program was dispatched, after it was traced and compiled."""
        prepared_ns = self.started_ns + int(sum(self.stages.values()) * 1e9)
        return prepared_ns if self.is_called_from_cell else max(self.launched_ns, prepared_ns)

    def take_print(self, traced: PrintInCall) -> None:
        """Add a print of its function's trace."""
        traced.call = self.id
        self.prints.append(str(traced.trace_print))

    @property
    def pending(self) -> bool:
        """Whether it has effects that have not happened."""
        return self.effects and self.drained_ns is None and not self.error

    @property
    def state(self) -> CallState:
        """How far the call has come."""
        if self.error:
            return self.outcome
        if self.drained_ns is not None:
            return "drained"
        if self.ready_ns is not None:
            return "ready"
        return "tracing" if self.dispatched_ns is None and not self.executed else "dispatched"

    def frozen(self) -> Call:
        """Return the call as it is now."""
        flight, rank = self.flight if self.flight and not self.error else (None, 0)
        run = flight.seconds if flight else None
        return Call(
            id=self.id,
            name=self.name,
            origin=self.origin,
            state=self.state,
            started_ns=self.started_ns,
            trace=self.stages.get("trace"),
            lower=self.stages.get("lower"),
            compile=self.stages.get("compile"),
            numba=self.stages.get("numba"),
            dispatched_ns=self.dispatched_ns,
            ready_ns=self.ready_ns,
            drained_ns=self.drained_ns,
            effects=self.effects,
            ordered=self.ordered,
            events=self.events,
            error=self.error,
            prints=tuple(self.prints),
            retraced=self.retraced,
            thread=self.thread,
            queued_ns=self.queued_ns,
            run=run,
            run_of=flight.count if flight and run is not None else 0,
            function=self.function if self.function not in ("", self.name) else None,
            flight=(flight.since_ns, rank, flight.least) if flight else None,
        )
