"""The session of this process: it starts and ends runs, and carries what fires to the run that it belongs to."""

from __future__ import annotations

import atexit
import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import jax

from jax_debug_widgets._jax.compat import features
from jax_debug_widgets._jax.compat.processes import joined, shared_store
from jax_debug_widgets._jax.compat.uninterrupted import uninterrupted
from jax_debug_widgets._jax.origins.context import is_capturing
from jax_debug_widgets._jax.running import dispatch
from jax_debug_widgets._jax.running.inputs import InputHooks
from jax_debug_widgets._jax.running.twins import TwinHooks
from jax_debug_widgets._jax.running.waits import Waits
from jax_debug_widgets._jax.tracing.tracing import tracing_now
from jax_debug_widgets.breakpoints import Debugger, JobStops, Place, RunObservers, Stopped
from jax_debug_widgets.checks.key_calls import KeyWatch
from jax_debug_widgets.checks.purity import PurityWatch
from jax_debug_widgets.session.added import AddedNames
from jax_debug_widgets.session.agreement import Agreement, Agreements
from jax_debug_widgets.session.contexts import Contexts
from jax_debug_widgets.session.interrupts import interrupts_of
from jax_debug_widgets.session.loading import load
from jax_debug_widgets.session.memory import keep_within, told_of
from jax_debug_widgets.session.observer import Observer
from jax_debug_widgets.session.options import Options
from jax_debug_widgets.session.panel.listing import Listing
from jax_debug_widgets.session.panel.panels import Panels
from jax_debug_widgets.session.panel.stops import debugging_status
from jax_debug_widgets.session.recorder import refuse_without_pyarrow
from jax_debug_widgets.session.recording import Recording
from jax_debug_widgets.session.run.ports import RunPorts
from jax_debug_widgets.session.run.run import UNCAPTURED, Run
from jax_debug_widgets.session.run.waiter import Waiter
from jax_debug_widgets.session.runs import Runs
from jax_debug_widgets.session.studies.call_programs import CallPrograms
from jax_debug_widgets.session.studies.program_views import ProgramViews
from jax_debug_widgets.session.switches import Switches
from jax_debug_widgets.taps import Capture
from jax_debug_widgets.watch import Watching
from jax_debug_widgets.widgets import may_ask, running_cell

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from jax_debug_widgets._jax.origins.equation import Equation
    from jax_debug_widgets.events import FiringBatch
    from jax_debug_widgets.session.panel.rows import Row
    from jax_debug_widgets.session.run.compare import RunRow
    from jax_debug_widgets.session.run.loaded import LoadedRun
    from jax_debug_widgets.session.run.view import RunView
    from jax_debug_widgets.taps.sites import NameFile

LOADED_BYTES = 4 << 30
"""Of values that all runs which were loaded hold together; the oldest let go of theirs, and say so."""

_TIME_TO_END = 1.0
"""Seconds in which a program that is interrupted at a breakpoint has ended."""


class Session:
    """Joins capture, store, transport and widgets. One a process: JAX's hooks are the process's."""

    def __init__(self) -> None:
        self.panels = Panels(self)
        self.program_views = ProgramViews()
        self._runs = Runs(self._forget)
        self.capture = Capture()
        self.call_programs = CallPrograms(self.capture, self.program_views)
        self.observer = Observer(self)
        self.input_hooks = InputHooks()
        self.twin_hooks = TwinHooks(self.capture.on, self._note_here)
        self.capture.prints.subscriber = self.observer.printed
        self.capture.traces.subscriber = self.observer.traced
        self.capture.running_programs.subscriber = self.observer.ran
        self.capture.around_traces.observers = [
            PurityWatch(self.capture.checks, self.capture.found, self.capture.is_stale),
            KeyWatch(self.capture.checks, self.capture.check_log),
        ]
        self.capture.threads.inherit = self._inherited
        self.watching = Watching(self.capture)
        self.watching.prepared = self.observer.prepared
        self.added = AddedNames()
        self._agreements = Agreements()
        self.debugger = Debugger(self.capture.gate, self._observers())
        self.capture.breakpoint_recorder = self.debugger.recorder
        self.interrupts = interrupts_of(self, self.observer)
        self.waiter = Waiter()
        self.contexts = Contexts()
        self._watch = dispatch.Watch(self.observer)
        self.capture.handover.watch = self._watch
        self._waits = Waits(self.observer.waited)
        self._sees_waits = ExitStack()
        self._sees = False
        self.switches = Switches(self.capture.sites, self.collect, self._runs.captured, self.recording)
        self.listing = Listing(self, self.panels)
        self._open: list[Recording] = []
        atexit.register(self._finish)

    @property
    def current(self) -> Run | None:
        """The run that what this thread dispatches belongs to: the innermost that is active, else the last one."""
        return self._runs.current

    @property
    def stoppable(self) -> Run | None:
        """The run that an interrupt ends: the active one, or that of breakpoints outside any capture."""
        return self._runs.stoppable

    @property
    def active(self) -> Run | None:
        """The innermost run of this thread that is going on; of a thread without one, the innermost of all."""
        return self._runs.active

    def recording(self) -> set[Run]:
        """The runs that go on, and the one that ended last: what is late goes to it."""
        return self._runs.recording()

    def name_files_by(self, name_file: NameFile) -> None:
        """How people call files, see `taps.sites.NameFile`; a notebook knows its cells."""
        self.capture.sites.name_file = name_file

    @contextmanager
    def run(self, title: str, options: Options, *, goes_on: bool = False) -> Iterator[Run]:
        """Capture what this thread does in the body; for `goes_on` see `start`."""
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
            recording.finish(error)

    def start(self, title: str, options: Options, *, goes_on: bool = False) -> Recording:
        """Begin to capture what this thread does, until `Recording.finish`, which the same thread must call.

        Args:
          goes_on: whether firings and calls are counted on where the run before has ended, for sites that are sampled.

        Raises:
          ImportError: the run is to be recorded, and pyarrow is not installed.
        """
        refuse_without_pyarrow(options)
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
            if agreement.options.watch is not None:
                self.watching.begin(agreement.options.watch)
            if agreement.why:
                run.note(agreement.why)
            if (tracing := tracing_now()) and tracing.signature is not None:
                run.note(
                    f"It began while JAX traced `{tracing.function}`: what is called in it then runs later, with what calls "
                    "that function, and is not here. Begin the capture outside of it."
                )
            self._make_room(run)
            firings = self.capture.box(run.box).firings
            if self._runs.reads(run.box) is None:
                firings.stamps.tell_threads(False)
            self._runs.begin(run)
            self._see()
        if options.kept_inputs:  # They take memory of the device: one run has them.
            for other in self._runs.ended():
                other.inputs.clear()
        self.listing.begin(run)
        self.interrupts.start()
        run.policy.job = self._job_stops(agreement, run)
        recording = Recording(self, run)
        self._open.append(recording)
        return recording

    def _job_stops(self, agreement: Agreement, run: Run) -> JobStops | None:
        """How a run stops that all processes of a job have begun; None where they have not."""
        store = shared_store() if agreement.processes > 1 else None
        if store is None:
            return None
        return JobStops(agreement.place, store, agreement.processes, self.debugger, run.policy, run.barrier)

    def _finish(self) -> None:
        """The interpreter ends. A capture in a generator that nobody asks any more would be left when modules are gone."""
        for recording in reversed(self._open.copy()):
            if recording.run in self._runs.own:
                recording.finish()

    def start_uncaptured(self, title: str) -> Recording:
        """Begin a run for the breakpoints of programs that no capture has compiled. Any thread may call it, any may end it."""
        self.collect()
        run = Run(self._ports(), title, Options(), UNCAPTURED)
        run.note(
            "These programs were compiled outside a capture: with %%jaxdebug you see their prints, steps and lanes, too."
        )
        with self._runs.lock:
            self._make_room(run)
            self._runs.begin_uncaptured(run)
        self.listing.begin(run)
        return Recording(self, run, captures=False)

    def fire_uncaptured(self, equation: Equation, arrays: tuple[np.ndarray, ...]) -> None:
        """A program that no capture has compiled has come to `jax.debug.breakpoint()`.

        Raises:
          Stopped: its user has ended it.
        """
        run = self.stoppable
        if run is None:
            return  # Its cell has just ended.
        try:
            self.capture.fire(equation, arrays, run.settings)
        except Stopped:
            raise
        except KeyboardInterrupt:
            self.debugger.policy.halted = "interrupted"
            place = f"{self.capture.sites.name_file(equation.frame.file)}:{equation.frame.line}"
            raise self.debugger.ending.stopped(f"at {place}") from None

    def settle(self) -> None:
        """Wait until what this thread has dispatched is over, or until an interrupt has ended what it can."""
        dispatched = dispatch.pending_tokens()
        try:
            self.waiter.wait(dispatched, None)
        except KeyboardInterrupt:
            self.waiter.wait(dispatched, _TIME_TO_END)

    def stop(self, run: Run) -> None:
        """Nothing more is dispatched for `run`; what is late still goes to it."""
        self.collect()
        if run is self._runs.uncaptured:
            self._runs.uncaptured = None
            return
        with self._runs.lock:
            self._open = [one for one in self._open if one.run is not run]
            self._runs.end(run)
        keep_within(self._runs.ended(), run.options.ended_budget)
        self._see_no_more()

    def _see(self) -> None:
        """See calls and waits, of whoever makes them for a run."""
        with self._runs.lock:
            if not self._sees:
                self._sees = True
                if features.available(features.CALLS):
                    self._watch.start()
                self._sees_waits.enter_context(self._waits.in_place())

    def _see_no_more(self) -> None:
        """The same no more, if nobody is left to make any."""
        with self._runs.lock:
            if self._sees and not self._runs.are_dispatching:
                self._sees = False
                if features.available(features.CALLS):
                    self._watch.stop()
                self._sees_waits.close()

    def collect(self) -> None:
        """Move what has fired from the boxes to the runs that read them."""
        self.capture.gate.count()
        self.capture.handover.backlog.tell()
        with self._runs.lock, uninterrupted():
            for number, box in list(self.capture.boxes.items()):
                run = self._runs.reads(number) or self._runs.latest_of(number)
                if run is None:
                    continue
                # Asked first: what these calls have fired is in the box now, if not in the store already.
                drained = run.call_log.take_drained()
                if box.firings:
                    self._ingest(run, box.take())
                self._make_room(run)
                run.callbacks.take()
                run.expectations.compare(drained)

    def _name_of(self, file: str) -> str:
        """How people call a file, by the function that is set when somebody asks."""
        return self.capture.sites.name_file(file)

    def _ports(self) -> RunPorts:
        """What a run asks of the session."""
        sites = self.capture.sites
        return RunPorts(
            waiter=self.waiter,
            backlog=self.capture.handover.backlog,
            collect=self.collect,
            outcomes_of=lambda box: self.capture.box(box).outcomes,
            name_file=self._name_of,
            panel_of=self.panels.of,
            refresh=self.panels.refresh,
            compile_report=self.watching.seen,
            changed_sites=sites.changed,
            muted_sites=sites.muted,
            leaked=self.capture.leaks.leaked,
            muted_checks=self.switches.muted_checks,
            sampled_sites=sites.sampled,
            added_names=lambda: tuple(self.added),
            debugging_status=self.debugging_status,
        )

    def _make_room(self, run: Run) -> None:
        """What fires may wait in its box for as long as the run could hold it."""
        box = self.capture.box(run.box)
        box.firings.limit, box.outcomes.results.limit = run.store.free, run.callbacks.budget

    def waiting(self, run: Run) -> int:
        """How much of `run` has fired and has not been taken in, see `Inbox.waiting`."""
        return self.capture.box(run.box).firings.waiting

    def tell_threads(self, run: Run) -> None:
        """From now on each event of the run says in which thread it fired."""
        self.capture.box(run.box).firings.stamps.tell_threads(True)

    def _inherited(self) -> Callable[[], AbstractContextManager[None]] | None:
        """For a thread that the current one starts: to be captured by the same run."""
        own = self._runs.own
        return self._runs.heir(own[-1], self._join) if own and is_capturing() else None

    @contextmanager
    def _join(self, run: Run) -> Iterator[None]:
        try:
            with self._runs.joined(run):
                self._see()
                self.tell_threads(run)
                with self.capture.on(run.settings):
                    yield
        finally:
            self._see_no_more()

    def _ingest(self, run: Run, lot: FiringBatch) -> None:
        calls, mixed = run.call_log.attribute(lot.times_ns - run.life.origin_ns, lot)
        for site_id, last_call in mixed.items():
            run.note(
                f"{run.dispatched[site_id].where} fired for calls that several threads made at once: which of these calls "
                "an event is of, and its step, is not told."
            )
            if not run.store.is_doubtful(site_id, last_call):
                run.store.doubt(site_id, last_call)
        run.store.ingest(lot, calls, run.call_log.executions(calls, lot))
        run.call_log.count(calls, lot)

    def _note_here(self, note: str) -> None:
        if (run := self.active) is not None:
            run.note(note)

    def barrier(self, timeout: float | None) -> bool:
        """`jax.effects_barrier()` for this thread, giving up after `timeout` seconds; whether all has drained.

        Raises:
          Exception: what a failed effect raises in `jax.effects_barrier()`.
        """
        if not self.waiter.wait(dispatch.pending_tokens(), timeout):
            return False
        jax.effects_barrier()
        run = self.current
        return run is None or run.barrier(timeout)

    def find_run(self, key: str) -> RunView | None:
        """The run of that key, if it is still known."""
        return self._runs.find(key)

    def runs(self) -> list[RunView]:
        """All runs that are still known, the newest last."""
        return self._runs.known()

    def take_loaded(self, run: LoadedRun) -> None:
        """A run was read from a file: from now on its panel can be shown, and the front ends list it."""
        self._runs.take_loaded(run)
        keep_within(self._runs.loaded(), LOADED_BYTES)
        run.when_renamed(self._renamed)
        self.listing.begin(run)

    def shelve(self, rows: Sequence[RunRow], load: Callable[[Path], LoadedRun]) -> None:
        """Front ends list these runs; each is read by `load` when one of them asks for it."""
        self._runs.shelve(rows, load)
        self.listing.tell_all()

    def shelved(self) -> list[RunRow]:
        """The runs in files that nobody has read whole."""
        return self._runs.shelved()

    def rows(self) -> list[Row]:
        """All runs that are known, as rows of a table."""
        return self.listing.rows()

    def load(self, path: str) -> None:
        """Read the run or the runs in this file, for the table of runs.

        Raises:
          RunFileError, OSError: it cannot be read. ImportError: pyarrow is not installed.
        """
        load(self, path)

    def told_of_memory(self) -> str:
        """What the ended runs hold, in a sentence; empty where there are none."""
        return told_of(self._runs.ended())

    def _renamed(self, run: RunView) -> None:
        self.listing.begin(run)
        self.panels.send_rows(run)

    def _forget(self, key: str) -> None:
        self.panels.forget(key)
        self.listing.forget(key)
        self.call_programs.forget(key)

    def debugging_status(self, run: Run) -> dict[str, Any]:
        """What `run.status()` says of breakpoints, pause and stop."""
        return debugging_status(
            run, self.debugger, self.panels.way, is_active=run in {*self._runs.going_on, self._runs.uncaptured}
        )

    def _observers(self) -> RunObservers:
        return RunObservers(self._place, may_ask, lambda: self.panels.way)

    def _place(self) -> Place:
        if joined() > 1:
            return "job"
        run = self.current
        if run is not None and self.panels.shows(run):
            return "panel"
        return "prompt" if may_ask() else "nowhere"


@functools.cache
def current_session() -> Session:
    """The session of this process, made when first asked for."""
    return Session()
