"""Define the run, which holds everything that one capture has recorded.

The file has more than 300 lines because a run has many public attributes; each body is a few lines and calls another module.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

from jax_debug_widgets._jax.passes.lane_loops import lane_loops
from jax_debug_widgets._jax.running.dispatch import is_compiled_function
from jax_debug_widgets.checks import Explanation, Kind, excerpt, explain, text_of
from jax_debug_widgets.checks.keys import Reuse, reuses
from jax_debug_widgets.checks.leaks import leaks_of
from jax_debug_widgets.checks.refused import refused_callback
from jax_debug_widgets.events import CallSite, StaleRead, Status, Tap, TracePrint
from jax_debug_widgets.events.errors import error_line
from jax_debug_widgets.events.host_call import place_of
from jax_debug_widgets.session.run import report
from jax_debug_widgets.session.run.call_span import CallSpan
from jax_debug_widgets.session.run.callbacks import RunCallbacks
from jax_debug_widgets.session.run.calls import CallLog
from jax_debug_widgets.session.run.expectations import Expectations
from jax_debug_widgets.session.run.findings import Findings
from jax_debug_widgets.session.run.first_nonfinite import joined
from jax_debug_widgets.session.run.inputs import SEEN, KeptInputs
from jax_debug_widgets.session.run.known_values import known_at
from jax_debug_widgets.session.run.life import Life
from jax_debug_widgets.session.run.report_findings import of_lane_loop
from jax_debug_widgets.session.run.save import file_name, save
from jax_debug_widgets.session.run.sources import source_fields
from jax_debug_widgets.session.run.trace_prints import TracePrints
from jax_debug_widgets.session.run.view import RunView, new_key
from jax_debug_widgets.store import Store
from jax_debug_widgets.taps.check_log import CheckLog
from jax_debug_widgets.watch import is_library

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    from jax_debug_widgets._jax.origins.equation import Recorders
    from jax_debug_widgets._jax.tracing.traces import Trace
    from jax_debug_widgets.events import Finding
    from jax_debug_widgets.session.options import Options
    from jax_debug_widgets.session.run.ports import RunPorts
    from jax_debug_widgets.taps import Printed
    from jax_debug_widgets.watch.choosing.compile_report import CompiledPrograms
    from jax_debug_widgets.widgets import Panel


_MOST_NOTES = 100

_MOST_TRACES = 10_000
"""The most traces that are kept, the newest ones."""

UNCAPTURED = -1
"""The number of the box for runs that capture nothing, so that they do not get late events of other runs."""


class Run(RunView):
    """What one `%%jaxdebug` cell or one `capture()` has recorded; see also `RunView`.

    Attributes:
      settings: the settings that are compiled into its programs.
      callbacks: a summary for each site that calls a host function, with the outcomes of its calls.
      inputs: the inputs of its newest calls, by call, see `jax_debug_widgets.replay`.
      explained: the exceptions that ended it, explained at the user's line.
      reused_keys: the PRNG keys that traced programs use more than once.
      traces: the traces of the user's jitted functions, in the order in which they came.
      noted: the notes that were added while the run went on; `notes` are all notes.
      is_called_by_its_call: whether the title is the name of the cell's call, once there is one.
      is_measured: whether the cost of watching is measured in it (`verify`), so that no estimate is shown.
      dispatched: id -> site, for the programs that were dispatched; some sites may not have fired.
    """

    def __init__(self, ports: RunPorts, title: str, options: Options, box: int = 0, processes: int = 1) -> None:
        self.key = new_key()
        self._title = title
        self.is_called_by_its_call = False
        self.options = options
        self._name, self.config, self.asked = options.name.strip(), dict(options.config), str(options)
        self.settings = options.settings(box, processes)
        self.policy = options.policy()
        self.policy.known = partial(known_at, self)
        self.is_on_many_devices = False
        self.is_measured = False
        self._ports = ports
        self.life = Life(options)
        super().__init__(Store(options.budget, self.life.origin_ns))
        self._call_log = CallLog(self.life.origin_ns, ports.waiter, ports.backlog, self.policy)
        self.expectations = Expectations(self.store)
        self.box = box
        outcomes = ports.outcomes_of(box)
        self.callbacks = RunCallbacks(self, self.life.origin_ns, self.call_log.spans, outcomes)
        self.inputs = KeptInputs(options.kept_inputs, self.note)
        self._stale = outcomes.stale = {}
        self.checked = outcomes.checked = CheckLog(lambda: self.call_log.newest)
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
    def call_log(self) -> CallLog:
        """The calls of the run."""
        return self._call_log

    @property
    def title(self) -> str:
        """The title for people: what was run."""
        return self.options.title or (self.is_called_by_its_call and self.call_log.leading) or self._title

    @property
    def is_captured(self) -> bool:
        """Whether its programs are captured; False if it only shows breakpoints of programs compiled outside a capture."""
        return self.box != UNCAPTURED

    @property
    def findings(self) -> Findings:
        """The findings about the run, such as sites that fired too seldom, show a tracer or have NaN, with the reasons."""
        self.collect()
        self._look_for_leaks()
        self.checked.seen(wait=True)
        return Findings(joined(report.findings(self, self._ports.muted_checks()), self, self.noted))

    def found_so_far(self) -> list[Finding]:
        """See `RunView`."""
        return report.findings(self, self._ports.muted_checks())

    @property
    def checked_calls(self) -> int:
        """The number of calls of programs that were checked while they ran; `calls` has only calls with effects."""
        return self.checked.calls

    @property
    def compilations(self) -> dict[str, float]:
        """Programs compiled in this run that are not of its calls, e.g. un-jitted operations: name -> seconds."""
        return self.call_log.compilations()

    @property
    def trace_prints(self) -> list[TracePrint]:
        """The texts that Python's `print` wrote in functions that JAX was tracing: once a trace, and not as events."""
        return self._trace_prints.all()

    def trace_prints_found(self) -> list[Finding]:
        """Return the findings about prints while tracing."""
        return self._trace_prints.findings()

    def take_trace(self, trace: Trace, program: Any, why: str = "") -> None:
        """Add a trace that has just ended. Look for reused keys and for loops of all lanes in its program, if there is one.

        `why` is why the function was traced again; empty if it was not.
        """
        if not trace.is_ours:
            self.traces.append(trace)
        if program is not None:
            self.call_log.retraced(trace.function, why or None)
            is_asked = Kind.KEY.option in self.settings.check
            found = (one for one in reuses(program) if is_asked or not one.is_shared)
            self.reused_keys.update(dict.fromkeys(found))
            for loop, choice in lane_loops(program.jaxpr):
                if not is_library(loop.file):
                    self.note(of_lane_loop(loop, choice, self.name_file))

    def take_print(self, printed: Printed) -> None:
        """Add a Python `print` of a function that the current thread traces."""
        self._trace_prints.add(printed)

    @property
    def nbytes(self) -> int:
        """The bytes of its kept events and results of host functions."""
        return self.store.nbytes + self.callbacks.nbytes

    def release(self, nbytes: int, *, arrays: bool) -> None:
        """Drop the oldest events and results until `nbytes` are freed; with `arrays`, drop nothing after the last array."""
        self.callbacks.release(nbytes - self.store.release(nbytes, arrays=arrays))

    @property
    def panel(self) -> Panel:
        """The interactive panel of this run; show it as the last expression of a cell."""
        return self._ports.panel_of(self)

    def save(self, path: str | PathLike[str], *, sources: bool = True) -> Path:
        """Write the run to a folder, `run.jdw`, or to one file to send, `run.jdw.zip`; `jdw.load` reads both.

        The folder holds Parquet files and JSON, which pandas, DuckDB and Polars read without this package:
        `pandas.read_parquet("run.jdw/p00000/events")`. It holds the printed values and, unless `sources` is False, the text
        of the files that they come from.

        Returns:
          The path.

        Raises:
          ImportError: pyarrow is not installed (`pip install "jax-debug-widgets[record]"`).
          ValueError: the path exists. OSError: the path cannot be written.
        """
        saved = save(self, path, sources=sources)
        self.file = file_name(saved)
        self._ports.refresh(self)
        return saved

    def barrier(self, timeout: float | None = None) -> bool:
        """Wait until the effects of all calls so far have happened, at most `timeout` seconds. Return whether they have.

        Inside a callback of the run it does not wait, because the callback is one of these effects.
        """
        timeout = 0 if self.callbacks.is_running_here() else timeout
        try:
            with self.life.waiting() if self.call_log.pending() else nullcontext():
                return self.call_log.wait_until_drained(timeout)
        finally:
            self.collect()

    def collect(self) -> None:
        """Take in all firings until now. Each reading of the run does it."""
        self._ports.collect()

    def name_file(self, file: str) -> str:
        """Return the name of a file for people, see `taps.sites.NameFile`."""
        return self._ports.name_file(file)

    def watch_seen(self) -> CompiledPrograms | None:
        """Return what is known about the programs compiled for this run's `watch`; None if nothing is watched."""
        watch = self.options.compiled_watch
        return None if watch is None else self._ports.compile_report(watch)

    def source_of(self, file: str) -> Mapping[str, Any]:
        """Return the text of a source file, see `sources.source_fields`.

        Raises:
          LookupError: nothing of this run comes from the file, or its text is not available.
        """
        return source_fields(self, file)

    def status(self) -> Status:
        """Return the status of the run."""
        return report.status(self, self._ports)

    @property
    def stale_reads(self) -> list[StaleRead]:
        """The values that JAX's cached programs still use although they have changed since the trace."""
        found = [one for one in self._stale.copy().values() if one is not None]
        # The names of files are looked up now, because the number of a cell is not known while it runs.
        return [replace(one, where=f"{self.name_file(one.file)}:{one.line}") if one.file else one for one in found]

    def begin_call(self, name: str, function: object) -> CallSpan | None:
        """Begin a call of the cell to `function`, written `name`; None if the function is not compiled."""
        if not is_compiled_function(function):
            return None
        # A plain function may wrap the compiled one (`jax.pmap`), which has another name.
        return self.call_log.begin(
            name, "" if isinstance(function, FunctionType) else getattr(function, "__name__", ""), function
        )

    def dispatching(self, program: Recorders) -> None:
        """Note that a program is being dispatched. A training loop does this thousands of times."""
        if program not in self._programs:
            self._programs.add(program)
            self.watched.update(tap.site for tap in program.taps if tap.site.watch)
            self.dispatched.update((tap.site.id, tap.site) for tap in program.taps)
            if note := report.reported_elsewhere(program):
                self.note(note)
            watch = self.options.watch
            if watch is not None and watch.every == 1 and not watch.when:
                self.policy.printing_watched.update(_printing_what_is_watched(program.taps))

    def switched(self, site_id: int, *, plain: bool, every: int | None) -> None:
        """Record one firing in `every` of a site from now on; or all again, from the next call on."""
        self.store.sample(site_id, every)
        self.store.doubt(site_id, self.call_log.newest if plain else math.inf)

    def note(self, sentence: str) -> None:
        """Add a note for the user, only once."""
        if sentence not in self.noted and len(self.noted) < _MOST_NOTES:
            self.noted.append(sentence)

    def forget_note(self, sentence: str) -> None:
        """Remove a note that no longer applies."""
        if sentence in self.noted:
            self.noted.remove(sentence)

    def returned(self, error: BaseException | None) -> None:
        """Note that the captured code has returned, or raised `error`."""
        if isinstance(error, KeyboardInterrupt):
            self.policy.is_raised = False  # Nobody has handled the interrupt, so programs that still run must end.
            if self.policy.ended is None:  # The interrupt came while no program was running.
                self.policy.halted = self.policy.ended = "interrupted"
        elif error is not None:
            self._explain(error)
        self._look_for_leaks(failed=error is not None)
        if self.options.keep_inputs and not self.inputs:
            self.note(f"The inputs of no call are kept for `jdw.replay`: keep_inputs {SEEN}.")
        was_closed = isinstance(error, GeneratorExit)  # A generator that was dropped has not failed.
        has_failed = error is not None and not was_closed and not self.policy.ends(error)
        failure = error if has_failed else None
        self.life.returned(error_line(failure) if failure else "", place_of(failure, self.name_file))

    def _look_for_leaks(self, *, failed: bool = False) -> None:
        """Note the names that hold tracers of ended traces; not after an exception, because its traceback holds tracers."""
        if "leaks" not in self.options.check:
            return
        tracers = self._ports.leaked()  # After a failure this forgets the tracers, so that no later run reports them.
        if not failed and self.life.state(self.call_log, self.policy) != "failed":
            for found in leaks_of(tracers):
                self.checked.note(found)

    def _explain(self, error: BaseException) -> None:
        """Keep the explanation of an exception, if there is one, and show it below the traceback."""
        explanation = explain(error, self.name_file)
        if explanation is not None:
            self.explained.append(explanation)
            error.add_note(excerpt(explanation, self.name_file))
        self.collect()
        for refused in self.callbacks.refused():
            if refused.error == str(error):
                error.add_note(text_of(refused_callback(refused, self.name_file)))

    def gave_up_waiting(self, *, interrupted: bool = False) -> None:
        """Note that the automatic barrier has timed out, or was interrupted."""
        self.life.gave_up()
        pending = ", ".join(record.name for record in self.call_log.pending())
        when = "when the wait was interrupted" if interrupted else f"after {self.options.timeout:g} s"
        self.noted.append(
            f"Prints and callbacks of {pending} had not all arrived {when}; they will still "
            "appear here. `%jaxdebug barrier` waits for them, `--timeout S` waits longer at the end of the cell."
        )

    def is_over(self) -> bool:
        """Whether nothing more can happen: the program has returned, and its effects have drained."""
        return self.life.is_over(self.call_log)


def _printing_what_is_watched(taps: Sequence[Tap]) -> dict[int, frozenset[int]]:
    """Return id of a site -> positions of its printed values that are watched in the same program too."""
    names = {tap.site.watch.name for tap in taps if tap.site.watch and tap.site.watch.role == "value"}
    return {
        tap.site.id: frozenset(number for number, name in enumerate(tap.site.values) if name in names)
        for tap in taps
        if not tap.site.watch and names.intersection(tap.site.values)
    }
