"""One capture: what it saw, what it is waiting for, and how to look at it."""

from __future__ import annotations

import math
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

from jax_debug_widgets._jax.running.dispatch import is_compiled_function
from jax_debug_widgets.checks import Explanation, excerpt, explain
from jax_debug_widgets.checks.keys import Reuse, reuses
from jax_debug_widgets.events import CallSite, Event, Finding, StaleRead, Status, Tap, TracePrint
from jax_debug_widgets.events.amounts import plural
from jax_debug_widgets.plots import array_tree, draw_array
from jax_debug_widgets.session.run import report
from jax_debug_widgets.session.run.by_name import choice_called
from jax_debug_widgets.session.run.callbacks import RunCallbacks
from jax_debug_widgets.session.run.calls import CallLog, CallSpan
from jax_debug_widgets.session.run.event_view import EventView
from jax_debug_widgets.session.run.expectations import Expectations
from jax_debug_widgets.session.run.figures import draw_lines, draw_spread, value_at
from jax_debug_widgets.session.run.known_values import known_at
from jax_debug_widgets.session.run.life import Life
from jax_debug_widgets.session.run.tables import Calls, Sites, events_frame, write_parquet
from jax_debug_widgets.session.run.texts import Texts
from jax_debug_widgets.session.run.trace_prints import TracePrints
from jax_debug_widgets.session.run.watched import WatchedValues
from jax_debug_widgets.session.run.watched_value import WatchedValue
from jax_debug_widgets.store import Store

if TYPE_CHECKING:
    from os import PathLike

    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes

    from jax_debug_widgets._jax.origins.equation import Recorders
    from jax_debug_widgets._jax.tracing.traces import Trace
    from jax_debug_widgets.session.options import Options
    from jax_debug_widgets.session.run.ports import RunPorts
    from jax_debug_widgets.taps import Printed
    from jax_debug_widgets.watch.choosing.compile_report import Seen
    from jax_debug_widgets.widgets import Panel


_MOST_NOTES = 100

_MOST_TRACES = 10_000
"""Traces that are kept, the newest."""

UNCAPTURED = -1
"""The box of the runs that capture nothing: late events of the others are not taken for theirs."""


class Run:
    """What one `%%jaxdebug` cell or one `capture()` observed.

    Attributes:
      settings: what is compiled into its programs.
      events: the events that are kept, a sequence in arrival order.
      callbacks: a summary for each site that calls a host function, and what became of its calls.
      explained: the exceptions that ended it, explained at the user's line.
      reused_keys: the PRNG keys that traced programs use more than once.
      traces: the traces of jitted functions of the user's, as they came.
      noted: what others have noted while it went on, as sentences; `notes` are all.
      key: names the run to the browser.
      is_called_by_its_call: its title is that of what the cell calls, once there is such a call.
      is_measured: whether what watching costs is measured in it (`verify`), so that no estimate of that is shown.
      watched: the values that are watched in the programs that were dispatched; some may not have been computed yet.
      dispatched: the sites in the programs that were dispatched, by number; some may not have fired.
    """

    def __init__(self, ports: RunPorts, title: str, options: Options, box: int = 0, processes: int = 1) -> None:
        self.key = uuid.uuid4().hex[:12]
        self._title = title
        self.is_called_by_its_call = False
        self.options = options
        self.settings = options.settings(box, processes)
        self.policy = options.policy()
        self.policy.known = partial(known_at, self)
        self.is_on_many_devices = False
        self.is_measured = False
        self.events: Sequence[Event] = EventView(self)
        self._ports = ports
        self.life = Life(options)
        self.store = Store(options.budget, self.life.origin_ns)
        self.texts = Texts(self.store)
        self.call_log = CallLog(self.life.origin_ns, ports.waiter, ports.backlog, self.policy)
        self.expectations = Expectations(self.store)
        self.box = box
        outcomes = ports.outcomes_of(box)
        self.callbacks = RunCallbacks(self, self.life.origin_ns, self.call_log.spans, outcomes)
        self._stale = outcomes.stale = {}
        self.noted: list[str] = []
        self.explained: list[Explanation] = []
        self.reused_keys: dict[Reuse, None] = {}
        self.traces: deque[Trace] = deque(maxlen=_MOST_TRACES)
        self.watched: set[CallSite] = set()
        self.dispatched: dict[int, CallSite] = {}
        self._programs: set[Recorders] = set()
        self._trace_prints = TracePrints(self, self.life.origin_ns, self.call_log.traced)
        for site_id, every in ports.sampled_sites().items():
            self.store.sample(site_id, every)
        for site_id in ports.changed_sites():
            self.store.doubt(site_id, math.inf)

    @property
    def title(self) -> str:
        """What was run, for people."""
        return (self.is_called_by_its_call and self.call_log.leading) or self._title

    @property
    def is_captured(self) -> bool:
        """Whether its programs are; False where it only shows the breakpoints of what was compiled outside a capture."""
        return self.box != UNCAPTURED

    @property
    def sites(self) -> Sites:
        """The call sites that have fired, in the order of their first event; shown as a line a site.

        A watched value that was compiled for several types is there once for each.
        """
        self.collect()
        return Sites(self.store.typed_sites(), self.store.seen_by_site())

    @property
    def calls(self) -> Calls:
        """The calls of compiled functions, the newest 10 000, as they began; `.to_pandas()` has them as a frame."""
        self.collect()
        return Calls(self.call_log.calls()[0])

    @property
    def findings(self) -> list[Finding]:
        """What the user should know of: sites that fired less often than their program says, or show a tracer, or NaN; why."""
        self.collect()
        return [*report.findings(self), *report.nonfinite_findings(self)]

    @property
    def compilations(self) -> dict[str, float]:
        """Programs compiled in this run that are none of its calls, e.g. un-jitted operations: name -> seconds."""
        return self.call_log.compilations()

    @property
    def trace_prints(self) -> list[TracePrint]:
        """What Python's `print` wrote in functions that JAX was tracing; once a trace, and no event."""
        return self._trace_prints.all()

    def take_trace(self, trace: Trace, program: Any) -> None:
        """Take in a trace that has just ended; keys are looked for in its program, if there is one."""
        self.traces.append(trace)
        if program is not None:
            self.reused_keys.update(dict.fromkeys(reuses(program)))

    def take_print(self, printed: Printed) -> None:
        """A function that the current thread traces has called Python's `print`."""
        self._trace_prints.add(printed)

    @property
    def dropped(self) -> int:
        """How many events the run no longer holds, for its budget."""
        return self.store.dropped

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept of its events and of the results of host functions."""
        return self.store.nbytes + self.callbacks.nbytes

    def release(self, nbytes: int, *, arrays: bool) -> None:
        """Let go of the oldest of that, until so many bytes are free; with `arrays` no further than to the last array."""
        self.callbacks.release(nbytes - self.store.release(nbytes, arrays=arrays))

    @property
    def values(self) -> WatchedValues:
        """The watched values by name, each with its statistics by step; `run["logits"]` is one of them."""
        return WatchedValues(self)

    def __getitem__(self, name: str) -> WatchedValue:
        return self.values[name]

    def __contains__(self, name: object) -> bool:
        return name in self.values

    def __iter__(self) -> Iterator[str]:
        """The names of the watched values."""
        return iter(self.values)

    @property
    def panel(self) -> Panel:
        """The interactive panel of this run; show it as the last expression of a cell."""
        return self._ports.panel_of(self)

    def series(self, name: str, *, phantoms: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """The history of one value.

        Args:
          name: its source expression, e.g. `"loss"`, the keyword it was passed as, a site's label, or the expression with
            the place: `"loss@In [3]:12"`; of a line that is called from several places with the caller: `"h · model.py:41"`.
          phantoms: also those that only a `vmap` made fire, see `Event.phantom`.

        Returns:
          `(steps, values)`. `steps` (int64[n]) is the place of each value on a plot's axis, shared by all lanes of a `vmap`:
          the step of the outermost loop, counted on from one call to the next, with inner loops as fractions of it (then
          float64[n]); outside loops the number of the call; where neither is known the number of the firing. `values` is
          [n, ...] in the program's dtype.

        Raises:
          KeyError: no such value, or several places have it; the message lists what there is.
          ValueError: its shape is not the same in all events; `run.events` has them one by one.
        """
        choice = choice_called(self, name)
        _, _, values = self.store.series(choice.site.id, choice.value, phantoms=phantoms)
        steps = self.store.steps(choice.site.id, phantoms=phantoms)
        count = min(len(steps), len(values))  # Events may have come, or gone, between the two.
        return steps[len(steps) - count :], values[len(values) - count :]

    def plot(
        self,
        *names: str,
        ax: Axes | None = None,
        log: bool = False,
        band: bool = False,
        kind: str = "line",
    ) -> Axes:
        """Draw series with matplotlib, as the panel does: against the true step, NaN and infinities as marks.

        An array of at most 16 elements has a line for each, a larger one its mean with a band from the lowest to the highest
        element; more than 3 lanes or 8 devices are such a band, too.

        Args:
          names: as for `series`, or patterns (`"grad_norm/*"`, `"*.mean"`); all scalar values where none is given. Of a watched
            array the mean, with a band from its least to its greatest element.
          ax: where to draw; a new figure's axes by default.
          log: a logarithmic y axis.
          band: a band over the elements of small arrays, too.
          kind: `line`; or, of one array, how its elements are spread from step to step: `ridge`, a hill for each of some
            steps, or `heat`, a column for each of at most 240; or `lanes`, of a watched value that was taken by lane (`"h"`,
            `"h.std"`): a row a lane, a column an execution.

        Raises:
          KeyError: see `series`. ValueError: there is nothing to draw, or several names for a picture of one.
        """
        if kind != "line":
            return draw_spread(self, names, kind, ax=ax)
        return draw_lines(self, names, ax=ax, log=log, band=band)

    def show(self, name: str, *, step: float = -1, lane: int = 0, ax: Axes | None = None) -> Axes:
        """Draw one value of an array with matplotlib: a vector as a line, a matrix as a heat map, an image as such.

        Args:
          name: as for `series`.
          step: one of those in `series`; negative counts them from the end.
          lane: which `vmap` lane of it, in JAX's order.
          ax: where to draw; a new figure's axes by default.

        Raises:
          KeyError: see `series`. IndexError: no such step or lane is kept. ValueError: a scalar, see `plot`.
        """
        title, value = value_at(self, name, step, lane)
        return draw_array(title, value, ax=ax)

    def tree(self, name: str, *, step: float = -1, lane: int = 0) -> Any:
        """One value of an array, of any rank, as a treescope figure: arguments and errors as for `show`.

        Raises:
          ImportError: treescope is not installed (`pip install "jax-debug-widgets[treescope]"`).
        """
        return array_tree(value_at(self, name, step, lane)[1])

    def to_pandas(self) -> pd.DataFrame:
        """One row an event: position, time in seconds, kind, place, label, occurrence, step, lane, phantom, device, and so on.

        Raises:
          ImportError: pandas is not installed (`pip install "jax-debug-widgets[pandas]"`).
        """
        self.collect()
        return events_frame(self.store)

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write the events to a Parquet file: the columns of `to_pandas`, the values with name, dtype, shape and data.

        `data` is the elements of a value, row by row, as float64: integers beyond 2**53 are rounded. Of a complex value the
        real and the imaginary part of each element follow each other.

        Raises:
          ImportError: pyarrow is not installed (`pip install "jax-debug-widgets[parquet]"`).
        """
        self.collect()
        write_parquet(self.store, path)

    def barrier(self, timeout: float | None = None) -> bool:
        """Wait until the effects of all calls so far have drained, at most `timeout` seconds; whether they have."""
        try:
            with self.life.waiting() if self.call_log.pending() else nullcontext():
                return self.call_log.wait_until_drained(timeout)
        finally:
            self.collect()

    def collect(self) -> None:
        """Take in what has fired until now. Reading anything of the run does it."""
        self._ports.collect()

    def name_file(self, file: str) -> str:
        """What a person calls a file, see `taps.sites.NameFile`."""
        return self._ports.name_file(file)

    def watch_seen(self) -> Seen | None:
        """What the programs compiled for this run's `watch` have shown; None where nothing is watched."""
        watch = self.options.watch
        return None if watch is None else self._ports.compile_report(watch)

    @property
    def notes(self) -> list[str]:
        """What the panel tells in words: what could not be captured, watched or found, what it costs, and the findings."""
        self.collect()
        return list(self.status().notes)

    def status(self) -> Status:
        """How the run is doing."""
        return report.status(self, self._ports)

    @property
    def stale_reads(self) -> list[StaleRead]:
        """Where JAX ran what it had traced with a value that has changed since, and the capture found another now."""
        return [one for one in self._stale.copy().values() if one is not None]

    def begin_call(self, name: str, function: object) -> CallSpan | None:
        """The cell is about to call `function`, written `name`; None if that runs no compiled program."""
        if not is_compiled_function(function):
            return None
        # A plain function wraps the compiled one (`jax.pmap`), whose name is another.
        return self.call_log.begin(
            name, "" if isinstance(function, FunctionType) else getattr(function, "__name__", "")
        )

    def dispatching(self, program: Recorders) -> None:
        """A program is being dispatched; a training loop does it thousands of times."""
        if program not in self._programs:
            self._programs.add(program)
            self.watched.update(tap.site for tap in program.taps if tap.site.watch)
            self.dispatched.update((tap.site.id, tap.site) for tap in program.taps)
            if told := report.told_elsewhere(program):
                self.note(told)
            watch = self.options.watch
            if watch is not None and watch.every == 1 and not watch.when:
                self.policy.printing_watched |= _printing_what_is_watched(program.taps)

    def switched(self, site_id: int, *, plain: bool, every: int | None) -> None:
        """From now on not all firings of a site are recorded, but one of `every`; or all are again, from the next call on."""
        self.store.sample(site_id, every)
        self.store.doubt(site_id, self.call_log.newest if plain else math.inf)

    def note(self, sentence: str) -> None:
        """Tell the user something, once."""
        if sentence not in self.noted and len(self.noted) < _MOST_NOTES:
            self.noted.append(sentence)

    def returned(self, error: BaseException | None) -> None:
        """The code that is captured has returned, or raised this."""
        if isinstance(error, KeyboardInterrupt):
            self.policy.told = False  # Nobody has handled it: what is still running ends.
            if self.policy.ended is None:  # It came where no program was running.
                self.policy.halted = self.policy.ended = "interrupted"
        elif error is not None:
            self._explain(error)
        was_closed = isinstance(error, GeneratorExit)  # A generator that nobody asks any more has not failed.
        self.life.returned(failed=error is not None and not was_closed and not self.policy.ends(error))

    def _explain(self, error: BaseException) -> None:
        """Keep what is known of an exception, and show it below its traceback."""
        explanation = explain(error)
        if explanation is not None:
            self.explained.append(explanation)
            error.add_note(excerpt(explanation, self.name_file))

    def gave_up_waiting(self, *, interrupted: bool = False) -> None:
        """The automatic barrier has timed out, or was interrupted."""
        self.life.gave_up()
        pending = ", ".join(record.name for record in self.call_log.pending())
        when = "when the wait was interrupted" if interrupted else f"after {self.options.timeout:g} s"
        self.noted.append(
            f"The effects of {pending} had not drained {when}; their events will still "
            "appear here. `%jaxdebug barrier` waits for them, `--timeout S` waits longer at the end of the cell."
        )

    def is_over(self) -> bool:
        """Whether nothing more can happen: the program has returned and its effects have drained."""
        return self.life.is_over(self.call_log)

    def __repr__(self) -> str:
        status = self.status()
        events, sites = plural(status.events, "event"), plural(len(self.store.sites()), "site")
        odd = report.first_nonfinite(self)
        born = f"; first NaN or infinite: {odd}" if odd else ""
        return f"<Run {self.title!r}: {status.state}, {events} from {sites}{born}>"

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.panel._repr_mimebundle_()


def _printing_what_is_watched(taps: Sequence[Tap]) -> set[int]:
    """The sites of a program that print nothing but values which are watched in it."""
    names = {tap.site.watch.name for tap in taps if tap.site.watch and tap.site.watch.role == "value"}
    return {tap.site.id for tap in taps if not tap.site.watch and tap.site.values and names.issuperset(tap.site.values)}
