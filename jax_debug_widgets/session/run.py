"""One capture: what it saw, what it is waiting for, and how to look at it."""

from __future__ import annotations

import time
import uuid
from collections import deque
from collections.abc import Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from jax_debug_widgets._jax.dispatch import is_compiled_function
from jax_debug_widgets.events import Barrier, BarrierState, Call, CallSite, Event, Finding, RunState, Status
from jax_debug_widgets.plots import draw_array, draw_series
from jax_debug_widgets.session.callbacks import RunCallbacks
from jax_debug_widgets.session.calls import CallLog, CallSpan
from jax_debug_widgets.session.expectations import Expectations
from jax_debug_widgets.session.naming import Choice, choose
from jax_debug_widgets.store import Store
from jax_debug_widgets.taps import formatted_while_tracing

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from jax_debug_widgets.session.options import Options
    from jax_debug_widgets.session.session import Session
    from jax_debug_widgets.widgets import Panel


_MOST_NOTES = 100

_RATE_OVER_S = 1.0
"""Seconds over which the rate of events is taken."""


class EventView(Sequence[Event]):
    """The events of a run that are kept, in arrival order; grows while the run goes on."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __len__(self) -> int:
        self._run.collect()
        return len(self._run.store) - self._run.store.oldest

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> list[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | list[Event]:
        kept = range(len(self))
        oldest = self._run.store.oldest
        if isinstance(index, slice):
            return [self._run.store.event(oldest + i) for i in kept[index]]
        return self._run.store.event(oldest + kept[index])

    def __repr__(self) -> str:
        dropped = self._run.store.oldest
        return f"<{len(self)} events{f', {dropped} older ones dropped' if dropped else ''}>"


class Run:
    """What one `%%jaxdebug` cell or one `capture()` observed.

    Attributes:
      events: the events that are kept, a sequence in arrival order.
      callbacks: a summary for each site that calls a host function, and what became of its calls.
      key: names the run to the browser.
      title: what was run, for people.
    """

    def __init__(self, session: Session, title: str, options: Options) -> None:
        self.key = uuid.uuid4().hex[:12]
        self.title = title
        self.options = options
        self.events: Sequence[Event] = EventView(self)
        self._session = session
        self.started = time.time()
        self.origin_ns = time.perf_counter_ns()
        self.store = Store(options.budget, self.origin_ns)
        self.call_log = CallLog(self.origin_ns, session.waiter)
        self.expectations = Expectations()
        self.callbacks = RunCallbacks(self, session.capture.outcomes)
        self.notes: list[str] = []
        self._arrivals: deque[tuple[float, int]] = deque([(self.started, 0)])
        self._returned_at: float | None = None
        self._ended_at: float | None = None
        self._gave_up = False
        self._error = False

    @property
    def sites(self) -> list[CallSite]:
        """The call sites that have fired, in the order of their first event."""
        self.collect()
        return self.store.sites()

    @property
    def calls(self) -> list[Call]:
        """The calls of compiled functions, in the order in which they began."""
        self.collect()
        return self.call_log.calls()[0]

    @property
    def findings(self) -> list[Finding]:
        """What the user should know of: sites that fired less often than their program says, or show a tracer; and why."""
        self.collect()
        return self._findings()

    @property
    def compilations(self) -> dict[str, float]:
        """Programs compiled in this run that are none of its calls, e.g. un-jitted operations: name -> seconds."""
        return self.call_log.compilations()

    @property
    def dropped(self) -> int:
        """How many events the run no longer holds, for its budget."""
        return self.store.oldest

    @property
    def panel(self) -> Panel:
        """The interactive panel of this run; show it as the last expression of a cell."""
        return self._session.panel_of(self)

    def series(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The history of one value.

        Args:
          name: its source expression, e.g. `"loss"`, the keyword it was passed as, a site's label, or the expression with
            the place: `"loss@In [3]:12"`.

        Returns:
          steps: int64[n], which firing of the site it was (all lanes of a `vmap` share it).
          values: [n, ...], float64 where the values are real numbers, else as they are.

        Raises:
          KeyError: no such value, or several places have it; the message lists what there is.
          ValueError: its shape is not the same in all events; `run.events` has them one by one.
        """
        choice = self._choose(name)
        _, steps, values = self.store.series(choice.site.id, choice.value)
        return steps, values if values.dtype.kind == "c" else values.astype(np.float64)

    def plot(self, *names: str, ax: Axes | None = None, log: bool = False) -> Axes:
        """Draw series with matplotlib: a line a value, lanes as a band, NaN and infinities as marks.

        Args:
          names: as for `series`; all scalar values where none is given.
          ax: where to draw; a new figure's axes by default.
          log: a logarithmic y axis.

        Raises:
          KeyError: see `series`. ValueError: there is nothing to draw.
        """
        choices = [self._choose(name) for name in names] or self._choices()
        drawn = []
        for choice in choices:
            _, steps, values = self.store.series(choice.site.id, choice.value)
            if names or _is_scalar(values):
                drawn.append((choice.name, steps, values))
        if not drawn:
            msg = "no scalar value was captured, so there is nothing to plot; see run.sites for what was"
            raise ValueError(msg)
        return draw_series(drawn, ax=ax, log=log)

    def show(self, name: str, *, step: int = -1, lane: int = 0, ax: Axes | None = None) -> Axes:
        """Draw one value of an array with matplotlib: a vector as a line, a matrix as a heat map, an image as such.

        Args:
          name: as for `series`.
          step: which firing of the site, counted as in `series`; negative from the end.
          lane: which `vmap` lane of it, in JAX's order.
          ax: where to draw; a new figure's axes by default.

        Raises:
          KeyError: see `series`. IndexError: no such step or lane is kept. ValueError: a scalar, see `plot`.
        """
        choice = self._choose(name)
        positions, steps = self.store.firings(choice.site.id)
        kept = np.unique(steps)
        wanted = kept[step] if step < 0 and -step <= len(kept) else step
        lanes = positions[steps == wanted]
        if not -len(lanes) <= lane < len(lanes):
            ends = f"{kept[0]} to {kept[-1]}" if len(kept) else "none"
            msg = f"{choice.place} has no step {step} with lane {lane}; steps that are kept: {ends}"
            raise IndexError(msg)
        value = self.store.event(int(lanes[lane])).values[choice.value]
        return draw_array(f"{choice.name}, step {wanted}", value, ax=ax)

    def to_pandas(self) -> pd.DataFrame:
        """One row an event: position, time in seconds, kind, place, label, step, lane, phase, call, text, values.

        Raises:
          ImportError: pandas is not installed (`pip install "jax-debug-widgets[pandas]"`).
        """
        try:
            import pandas as pd
        except ImportError as error:
            msg = 'run.to_pandas() needs pandas: pip install "jax-debug-widgets[pandas]"'
            raise ImportError(msg) from error
        return pd.DataFrame([_row(event) for event in self.events], columns=list(_ROW))

    def barrier(self, timeout: float | None = None) -> bool:
        """Wait until the effects of all calls so far have drained, at most `timeout` seconds; whether they have."""
        drained = self.call_log.wait_until_drained(timeout)
        self.collect()
        return drained

    def collect(self) -> None:
        """Take in what has fired until now. Reading anything of the run does it."""
        self._session.collect()

    def name_file(self, file: str) -> str:
        """What a person calls a file, see `taps.sites.NameFile`."""
        return self._session.capture.sites.name_file(file)

    def status(self) -> Status:
        """How the run is doing."""
        now = time.time()
        count = len(self.store)
        return Status(
            state=self._state(),
            title=self.title,
            started=self.started,
            elapsed=(self._ended_at or now) - self.started,
            events=count,
            rate=self._rate(now, count),
            dropped=self.store.oldest,
            dropped_by_site=self.store.dropped_by_site(),
            muted=self._muted(),
            barrier=self._barrier_status(now),
            notes=(
                *self.notes,
                *self.callbacks.notes(),
                *(finding.message for finding in self._findings()),
            ),
        )

    def begin_call(self, name: str, function: object) -> CallSpan | None:
        """The cell is about to call `function`, written `name`; None if that runs no compiled program."""
        if not is_compiled_function(function):
            return None
        # A plain function wraps the compiled one (`jax.pmap`), whose name is another.
        return self.call_log.begin(
            name, "" if isinstance(function, FunctionType) else getattr(function, "__name__", "")
        )

    def note(self, sentence: str) -> None:
        """Tell the user something, once."""
        if sentence not in self.notes and len(self.notes) < _MOST_NOTES:
            self.notes.append(sentence)

    def returned(self, *, failed: bool) -> None:
        """The program has returned or raised; its effects may still be pending."""
        self._returned_at = time.time()
        self._error = failed

    def gave_up_waiting(self, *, interrupted: bool = False) -> None:
        """The automatic barrier has timed out, or was interrupted."""
        self._gave_up = True
        pending = ", ".join(record.name for record in self.call_log.pending())
        when = "when the wait was interrupted" if interrupted else f"after {self.options.timeout:g} s"
        self.notes.append(
            f"The effects of {pending} had not drained {when}; their events will still "
            "appear here. `%jaxdebug barrier` waits for them, `--timeout S` waits longer at the end of the cell."
        )

    def is_over(self) -> bool:
        """Whether nothing more can happen: the program has returned and its effects have drained."""
        over = self._returned_at is not None and not self.call_log.pending()
        if over and self._ended_at is None:
            self._ended_at = time.time()
        return over

    def __repr__(self) -> str:
        status = self.status()
        return f"<Run {self.title!r}: {status.state}, {status.events} events from {len(self.store.sites())} sites>"

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.panel._repr_mimebundle_()

    def _findings(self) -> list[Finding]:
        formatted = map(formatted_while_tracing, self.store.sites())
        return [*(finding for finding in formatted if finding), *self.expectations.findings()]

    def _muted(self) -> tuple[int, ...]:
        muted = self._session.capture.sites.muted()
        return tuple(site.id for site in self.store.sites() if site.id in muted)

    def _choices(self) -> list[Choice]:
        return [Choice(site, index) for site in self.sites for index in range(len(site.values))]

    def _choose(self, name: str) -> Choice:
        return choose(name, self._choices())

    def _state(self) -> RunState:
        if self._returned_at is None:
            return "running"
        if self.call_log.pending():
            return "waiting"
        return "failed" if self._error or self.call_log.has_failed else "done"

    def _barrier_status(self, now: float) -> Barrier:
        pending = self.call_log.pending()
        waited = 0.0 if self._returned_at is None else (self._ended_at or now) - self._returned_at
        return Barrier(
            state=self._barrier_state(bool(pending)),
            pending=tuple(record.name for record in pending),
            waited=waited,
            timeout=self.options.timeout,
        )

    def _barrier_state(self, pending: bool) -> BarrierState:
        if pending:
            return "timeout" if self._gave_up else "pending"
        if not self.call_log.has_effects:
            return "idle" if self.options.barrier else "off"
        return "failed" if self.call_log.has_failed else "drained"

    def _rate(self, now: float, count: int) -> float:
        arrivals = self._arrivals
        if self._ended_at is not None:
            return count / max(self._ended_at - self.started, 1e-9)
        arrivals.append((now, count))
        while now - arrivals[1][0] > _RATE_OVER_S:
            arrivals.popleft()
        then, before = arrivals[0]
        return (count - before) / max(now - then, 1e-3)


_ROW = (
    "seq", "time", "kind", "ordered", "where", "label", "step", "lane", "phase", "call", "text", "values",
)  # fmt: skip


def _is_scalar(values: np.ndarray) -> bool:
    return values.ndim == 1 and len(values) > 0 and values.dtype.kind != "c"


def _row(event: Event) -> tuple[Any, ...]:
    values = dict(zip(event.site.values, event.values, strict=True))
    return (
        event.seq,
        event.time_ns * 1e-9,
        event.kind,
        event.ordered,
        event.site.where,
        event.site.label,
        event.occurrence,
        event.lane,
        event.phase,
        event.call,
        event.text,
        {name: value[()] for name, value in values.items()},
    )
