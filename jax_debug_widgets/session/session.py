"""Start and end the runs of this process, and move firings to the runs that they belong to."""

from __future__ import annotations

import atexit
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.running import dispatch
from jax_debug_widgets._jax.running.inputs import InputHooks
from jax_debug_widgets._jax.running.twins import TwinHooks
from jax_debug_widgets._jax.tracing.tracing import tracing_now
from jax_debug_widgets.breakpoints import Debugger
from jax_debug_widgets.checks.key_calls import KeyWatch
from jax_debug_widgets.checks.purity import PurityWatch
from jax_debug_widgets.session.added import AddedNames
from jax_debug_widgets.session.agreement import Agreements, job_stops
from jax_debug_widgets.session.answering import observers_of
from jax_debug_widgets.session.collecting import Collector
from jax_debug_widgets.session.contexts import Contexts
from jax_debug_widgets.session.dispatch_hooks import DispatchHooks
from jax_debug_widgets.session.interrupts import interrupts_of
from jax_debug_widgets.session.memory import keep_within, memory_text
from jax_debug_widgets.session.observer import SessionObserver
from jax_debug_widgets.session.open_recordings import OpenRecordings
from jax_debug_widgets.session.options import Options
from jax_debug_widgets.session.panel.stops import debugging_status
from jax_debug_widgets.session.reading import RunKeeper
from jax_debug_widgets.session.recorder import refuse_without_pyarrow
from jax_debug_widgets.session.recording import Recording
from jax_debug_widgets.session.run.ports import RunPorts
from jax_debug_widgets.session.run.run import UNCAPTURED, Run
from jax_debug_widgets.session.run.waiter import Waiter
from jax_debug_widgets.session.run_ports import ports_of
from jax_debug_widgets.session.studies.call_programs import CallPrograms
from jax_debug_widgets.session.studies.program_views import ProgramViews
from jax_debug_widgets.session.studies.seen import seen_of
from jax_debug_widgets.session.switches import Switches
from jax_debug_widgets.session.thread_capture import ThreadCapture
from jax_debug_widgets.session.uncaptured import UncapturedPrograms
from jax_debug_widgets.taps import Capture
from jax_debug_widgets.watch import ProgramWatchers
from jax_debug_widgets.widgets import running_cell


class Session(RunKeeper):
    """Joins capture, store, transport and widgets. There is one session in a process, because JAX's hooks are global."""

    def __init__(self) -> None:
        super().__init__()
        self.program_views = ProgramViews(lambda program: seen_of(self, program))
        self.capture = Capture()
        self.collector = Collector(self.capture, self._runs)
        self.call_programs = CallPrograms(self.capture, self.program_views)
        self.observer = SessionObserver(self)
        self.input_hooks = InputHooks()
        self.twin_hooks = TwinHooks(self.capture.on, self._note_here)
        self.capture.prints.subscriber = self.observer.printed
        self.capture.traces.subscriber = self.observer.traced
        self.capture.running_programs.subscriber = self.observer.ran
        self.capture.around_traces.observers = [
            PurityWatch(self.capture.checks, self.capture.found, self.capture.is_stale),
        ]
        self.capture.program_calls.observer = KeyWatch(self.capture.checks, self.capture.check_log).called
        self.watchers = ProgramWatchers(self.capture)
        self.watchers.prepared = self.observer.prepared
        self.added = AddedNames()
        self._agreements = Agreements()
        self.debugger = Debugger(self.capture.gate, observers_of(self.panels, lambda: self.current))
        self.capture.breakpoint_recorder = self.debugger.recorder
        self.interrupts = interrupts_of(self, self.observer)
        self.waiter = Waiter()
        self.uncaptured = UncapturedPrograms(self.capture, self.debugger, self.waiter, lambda: self.stoppable)
        self.contexts = Contexts()
        self._dispatch_hooks = DispatchHooks(self.observer, self._runs)
        self.capture.handover.watch = self.capture.sampled_calls.watch = self._dispatch_hooks.watch
        threads = ThreadCapture(self.capture, self._runs, self.collector, self._dispatch_hooks)
        self.capture.threads.inherit = threads.inherited
        self.switches = Switches(self.capture.sites, self.collect, self._runs.captured, self._runs.recording)
        self._open = OpenRecordings()
        atexit.register(lambda: self._open.finish(self._runs.own))

    @property
    def current(self) -> Run | None:
        """The run that this thread's programs belong to: the innermost active run, else the run that ended last."""
        return self._runs.current

    @property
    def stoppable(self) -> Run | None:
        """The run that an interrupt ends: the active run, or else the run of breakpoints outside any capture."""
        return self._runs.stoppable

    @property
    def active(self) -> Run | None:
        """The innermost run of this thread that goes on; in a thread without a run, the innermost of all threads."""
        return self._runs.active

    @contextmanager
    def run(self, title: str, options: Options, *, goes_on: bool = False) -> Iterator[Run]:
        """Capture the programs of this thread in the body; for `goes_on` see `start`."""
        recording = self.start(title, options, goes_on=goes_on)
        error: BaseException | None = None
        try:
            yield recording.run
        except BaseException as raised:
            error = self.observer.failed(raised)
            if error is raised:
                raise
            raise error from None
        finally:
            self._open.end(recording, error)

    def start(self, title: str, options: Options, *, goes_on: bool = False) -> Recording:
        """Begin to capture the programs of this thread, until the same thread calls `Recording.finish`.

        Args:
          goes_on: whether the counts of firings and calls go on from the run before, for sites that are sampled.

        Raises:
          ImportError: the run is to be recorded, and pyarrow is not installed.
        """
        refuse_without_pyarrow(options)
        self._open.end_dropped()
        box = self._runs.box_of_this_thread()
        previous = self._runs.reads(box) or self._runs.latest_of(box)
        if previous is not None and previous.call_log.pending():
            # Its late events must not land in the new run.
            previous.barrier(previous.options.timeout)
        agreement = self._agreements.of(title, self.added.beside(options), goes_on=goes_on)
        self.collect()
        with self._runs.lock:
            if not (self._runs.going_on or goes_on):
                self.capture.sites.restart()
                self.twin_hooks.restart()
            run = Run(self._ports(), title, agreement.options, self._runs.box_of_this_thread(), agreement.processes)
            run.cell = running_cell()
            run.when_renamed(self._renamed)
            run.noted += features.missing().values()
            if (watch := agreement.options.compiled_watch) is not None:
                self.watchers.begin(watch)
            if agreement.why:
                run.note(agreement.why)
            if (tracing := tracing_now()) and tracing.signature is not None:
                run.note(
                    f"The capture began while JAX traced `{tracing.function}`. Functions called here are traced now and "
                    "run later, outside this capture. Begin the capture outside of that function."
                )
            self.collector.make_room(run)
            if self._runs.reads(run.box) is None:
                self.collector.record_threads(run, False)
            self._runs.begin(run)
            self._dispatch_hooks.install()
        if options.kept_inputs:  # Inputs take memory of the device, so only one run keeps them.
            for other in self._runs.ended():
                other.inputs.clear()
        self.listing.begin(run)
        self.interrupts.start()
        run.policy.job = job_stops(agreement, self.debugger, run.policy, run.barrier)
        recording = Recording(self, run)
        self._open.add(recording)
        return recording

    def start_uncaptured(self, title: str) -> Recording:
        """Begin a run for the breakpoints of programs that no capture has compiled. Any thread may begin and end it."""
        self.collect()
        run = Run(self._ports(), title, Options(), UNCAPTURED)
        run.note(
            "These programs were compiled outside a capture: with %%jaxdebug you also see their prints, steps and lanes."
        )
        with self._runs.lock:
            self.collector.make_room(run)
            self._runs.begin_uncaptured(run)
        self.listing.begin(run)
        return Recording(self, run, captures=False)

    def stop(self, run: Run) -> None:
        """Note that no further call belongs to `run`. Its late firings still go to it."""
        self.collect()
        if run is self._runs.uncaptured:
            self._runs.uncaptured = None
            return
        with self._runs.lock:
            self._open.remove(run)
            self._runs.end(run)
        keep_within(self._runs.ended(), run.options.ended_budget)
        self._dispatch_hooks.remove_if_unused()

    def _ports(self) -> RunPorts:
        return ports_of(
            self.capture,
            self.watchers,
            self.panels,
            self.switches,
            self.added,
            self.waiter,
            collect=self.collect,
            debugging_status=self.debugging_status,
        )

    def collect(self) -> None:
        """Move firings to the runs that they belong to. Safe from any thread."""
        self.collector.collect()

    def _note_here(self, note: str) -> None:
        if (run := self.active) is not None:
            run.note(note)

    def barrier(self, timeout: float | None) -> bool:
        """Do `jax.effects_barrier()` for this thread, at most `timeout` seconds. Return whether all effects have happened.

        Raises:
          Exception: what a failed effect raises in `jax.effects_barrier()`.
        """
        if not self.waiter.wait(dispatch.pending_tokens(), timeout):
            return False
        jax.effects_barrier()
        run = self.current
        return run is None or run.barrier(timeout)

    def memory_text(self) -> str:
        """Return a sentence about what the ended runs hold; empty without ended runs."""
        return memory_text(self._runs.ended())

    def _forget(self, key: str) -> None:
        super()._forget(key)
        self.call_programs.forget(key)

    def debugging_status(self, run: Run) -> dict[str, Any]:
        """Return the part of `run.status()` about breakpoints, pause and stop."""
        return debugging_status(
            run, self.debugger, self.panels.way, is_active=run in {*self._runs.going_on, self._runs.uncaptured}
        )


@functools.cache
def current_session() -> Session:
    """Return the session of this process; the first call makes it."""
    return Session()
