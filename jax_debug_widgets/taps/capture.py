"""Capture what programs print, call and watch: make their taps at lowering; recorders note the firings (`recorders.py`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from jax_debug_widgets._jax.compat import hidden_frames
from jax_debug_widgets._jax.compat.replacements import Replacing
from jax_debug_widgets._jax.compat.warning_lines import WarningLines
from jax_debug_widgets._jax.origins.context import (
    captured_settings,
    capturing,
    is_captured_alone,
    is_capturing,
    leaves_out_debugging,
)
from jax_debug_widgets._jax.origins.lanes import LaneHooks
from jax_debug_widgets._jax.passes.checked import Checked
from jax_debug_widgets._jax.passes.watcher import MakeWatcher, Watcher
from jax_debug_widgets._jax.passes.watching import WatchHooks
from jax_debug_widgets._jax.running.ahead import AheadHooks
from jax_debug_widgets._jax.running.around_traces import AroundTraces
from jax_debug_widgets._jax.running.cache_misses import CacheMissHooks
from jax_debug_widgets._jax.running.cached_programs import CachedProgram
from jax_debug_widgets._jax.running.callback_hooks import CallbackHooks
from jax_debug_widgets._jax.running.checking import CheckHooks
from jax_debug_widgets._jax.running.handover import HandoverHooks
from jax_debug_widgets._jax.running.hooks import Hooks
from jax_debug_widgets._jax.running.indexing import IndexingHooks
from jax_debug_widgets._jax.running.program_calls import ProgramCalls
from jax_debug_widgets._jax.running.retraced import RetracedHooks
from jax_debug_widgets._jax.running.reuse_executables import ReuseHooks
from jax_debug_widgets._jax.running.running_programs import RunningPrograms
from jax_debug_widgets._jax.running.sampled_calls import SampledCalls
from jax_debug_widgets._jax.tracing.bindings import BindingHooks
from jax_debug_widgets._jax.tracing.expressions import LinesOf
from jax_debug_widgets._jax.tracing.leaks import LeakHooks
from jax_debug_widgets._jax.tracing.precision import PrecisionHooks, Truncated
from jax_debug_widgets._jax.tracing.retraces import TraceWatch
from jax_debug_widgets._jax.tracing.trace_counts import TraceCounts
from jax_debug_widgets.events import Bundle, Inbox, Tap
from jax_debug_widgets.taps.callbacks import CallbackListener
from jax_debug_widgets.taps.equation_taps import EquationTaps
from jax_debug_widgets.taps.failures import Failures
from jax_debug_widgets.taps.gate import Gate
from jax_debug_widgets.taps.outcomes import CALLING, OutcomeBook, asked_by
from jax_debug_widgets.taps.recorders import (
    BundleRecorder,
    TapReporter,
    WholeRecorder,
    bundle_recorder,
    recorder,
    unless_muted,
    whole_recorder,
)
from jax_debug_widgets.taps.settings import Settings
from jax_debug_widgets.taps.sites import SiteBook, Switch
from jax_debug_widgets.taps.stale_reads import StaleReads
from jax_debug_widgets.taps.text import can_be_formatted, why_unformattable
from jax_debug_widgets.taps.threads import ThreadWatch
from jax_debug_widgets.taps.trace_prints import PrintWatch
from jax_debug_widgets.taps.untaken_firings import UntakenFirings

if TYPE_CHECKING:
    import numpy as np

    from jax_debug_widgets._jax.origins.equation import DebugCall, Recorder
    from jax_debug_widgets._jax.origins.frames import Frame
    from jax_debug_widgets._jax.passes.checked import Recorded
    from jax_debug_widgets._jax.passes.result_passing import ResultReporter
    from jax_debug_widgets.taps.check_log import CheckLog


BreakpointRecorder = Callable[["Tap", "DebugCall", Switch, Inbox, "Recorder"], Any]
"""Makes the recorder of a breakpoint. The last argument is the recorder that opens JAX's own prompt."""


class Capture:
    """Holds the taps of this process, the boxes that their recorders fill, and the gate that each firing passes.

    Attributes:
      boxes: number of a box (`Settings.box`) -> the firings of a capture that were not taken yet.
      lanes: records which axes of the traced values are lanes, if `reports_lanes` or a check asks for it.
      tells_lanes: whether a `Settings.watch` needs the lanes. The room `watch` sets it.
      lines_of: which variables to look up at which lines of a function that is traced. The room `watch` sets it.
      breakpoint_recorder: makes the recorder of a breakpoint. The session sets it.
    """

    def __init__(self, sites: SiteBook | None = None) -> None:
        self.sites = SiteBook() if sites is None else sites
        self.gate = Gate()
        self.boxes: dict[int, UntakenFirings] = {0: UntakenFirings(self.gate, self.sites)}
        self.breakpoint_recorder: BreakpointRecorder = lambda _tap, _equation, _switch, _inbox, plain: plain
        self._hooks = Hooks(self._make_recorder, self._left_out)
        listener = CallbackListener(self.sites, self._outcomes_here, partial(self._make_recorder, settings=Settings()))
        self._callback_hooks = CallbackHooks(listener, is_capturing, leaves_out_debugging)
        self.prints = PrintWatch(captured_settings)
        self.traces = TraceWatch()
        self.running_programs = RunningPrograms()
        self.threads = ThreadWatch(self._inherited)
        self._stale_reads = StaleReads(self.sites.name_file)
        self._taps = EquationTaps(self.sites)
        self.make_watcher: MakeWatcher | None = None
        watch_hooks = WatchHooks(self._watcher_of, captured_settings)
        self.reports_lanes: Callable[[Any], bool] = lambda _watch: False
        self.lines_of: LinesOf = lambda _code, _watch: {}
        self.lanes = LaneHooks(self._wants_lanes)
        self.handover = HandoverHooks(self._make_reporter, watch_hooks, lambda: self.gate.closed)
        self.gate.when_closed = self.handover.hold
        self.sampled_calls = SampledCalls(lambda: self.sites.counter().takes)
        self._trace_counts, self.around_traces = TraceCounts(), AroundTraces()
        self.program_calls = ProgramCalls()
        self.leaks = LeakHooks(lambda: self.checks("leaks"))
        self._of_checks: dict[str, Replacing] = {
            "x64": PrecisionHooks(lambda: self.checks("x64"), self._is_truncated),
            **dict.fromkeys(("oob", "purity"), IndexingHooks(self.checks, self.found)),
            "leaks": self.leaks,
            "keys": self.program_calls,
        }
        self._bindings = BindingHooks(lambda code, watch: self.lines_of(code, watch))  # noqa: PLW0108 - it is set later.
        reused = ReuseHooks(self.handover.gives_away)
        self._replacing = (
            self._hooks,
            self._callback_hooks,
            self.prints,
            self.traces,
            self.running_programs,
            self.threads,
            watch_hooks,
            self.lanes,
            self.handover,
            self.sampled_calls,
            AheadHooks(),
            RetracedHooks(self.is_stale, reused.reuse),
            CacheMissHooks(),
            reused,
            CheckHooks(self._checked, self.lanes.axes_inside, self._note_here),
            self._trace_counts,
            WarningLines(),
        )
        self.failures = Failures(watch_hooks, self._note_here)
        self.failures.subscribe(
            (*self._replacing, self.around_traces, *self._of_checks.values()),
            watching=(watch_hooks, self.lanes, self._bindings),
        )

    def box(self, number: int) -> UntakenFirings:
        """Return the box with this number; make it if there is none."""
        known = self.boxes.get(number)
        return self.boxes.setdefault(number, UntakenFirings(self.gate, self.sites)) if known is None else known

    @contextmanager
    def on(self, settings: Settings) -> Iterator[None]:
        """Capture the programs that the current thread dispatches. Captures may be nested; the inner settings apply."""
        hidden_frames.hide()
        with ExitStack() as stack:
            for ours in self._replacing:
                stack.enter_context(ours.in_place())
            if settings.watch is not None:
                stack.enter_context(self._bindings.in_place())
            for check, ours in self._of_checks.items():
                if check in settings.check:
                    stack.enter_context(ours.in_place())
            if not self.around_traces.checks.isdisjoint(settings.check):
                stack.enter_context(self.around_traces.in_place())
            stack.enter_context(capturing(settings))
            yield

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Explain why JAX refuses a callback, in a note of the exception; nothing is captured."""
        hidden_frames.hide()
        with self._hooks.in_place(), self._trace_counts.in_place(), capturing(None), self._callback_hooks.explaining():
            try:
                yield
            except Exception as error:
                refused = self._outcomes_here().refused
                for one in [refused.popleft() for _ in range(len(refused))]:
                    where = f"{self.sites.name_file(one.frame.file)}:{one.frame.line}"
                    error.add_note(f"{one.call} at {where if one.frame.line else 'an unknown place'}: {one.why}")
                raise

    def _note_here(self, note: str) -> None:
        self._outcomes_here().notes.append(note)

    def _left_out(self, what: str) -> None:
        self._outcomes_here().notes.append(
            f"Left out: {what}. Where a process of a job captures alone its programs stay as JAX makes them: the other "
            "processes run the same ones, and all hang where the collectives differ."
        )

    def is_stale(self, retraced: CachedProgram) -> None:
        """Note that a cached program runs although tracing its function now would give another program."""
        stale = self._outcomes_here().stale
        if retraced not in stale:
            stale[retraced] = self._stale_reads.of(retraced)

    def _outcomes_here(self) -> OutcomeBook:
        """Return the outcomes of the current thread's capture."""
        return self._box_here().outcomes

    def checks(self, option: str) -> bool:
        """Whether the settings of the current thread's capture include a check."""
        settings: Settings | None = captured_settings()
        return settings is not None and option in settings.check

    def _is_truncated(self, frames: tuple[Frame, ...], truncated: Truncated) -> None:
        self.found(Checked("x64", truncated.dtype, frames, truncated))

    def found(self, checked: Checked) -> None:
        """Note a hit of a check that was found while a program was traced or called."""
        self.check_log().note(checked)

    def check_log(self) -> CheckLog:
        """Return the check log of the current thread's capture."""
        return self._outcomes_here().checked

    def _checked(self, program: Recorded, results: Sequence[Any]) -> None:
        self._outcomes_here().checked.add(program, results)

    def _inherited(self) -> Callable[[], AbstractContextManager[None]] | None:
        settings: Settings | None = captured_settings()
        return None if settings is None else partial(self.on, settings)

    def _box_here(self) -> UntakenFirings:
        settings: Settings | None = captured_settings()
        return self.box(settings.box if settings else 0)

    def is_explaining(self) -> bool:
        """Whether the current thread is inside `explaining`. Programs that run there are run by this package."""
        return self._callback_hooks.is_explaining()

    def bundle_recorder(self, bundle: Bundle) -> BundleRecorder:
        """Make the recorder that a compiled program calls with the watched values of one body."""
        switches = [self.sites.switch_of(tap.site.id) for tap in bundle.taps]
        return bundle_recorder(bundle, switches, self._box_here().firings, self.gate)

    def whole_recorder(self, bundle: Bundle, whole: Mapping[Tap, Tap]) -> WholeRecorder:
        """Make a recorder for a program that may stop; it also takes the whole values of some of its taps."""
        switches = [self.sites.switch_of(tap.site.id) for tap in bundle.taps]
        return whole_recorder(bundle, whole, switches, self._box_here().firings, self.gate)

    def _wants_lanes(self) -> bool:
        settings: Settings | None = captured_settings()
        return settings is not None and (bool(settings.check) or self.reports_lanes(settings.watch))

    def _watcher_of(self, name: str, settings: Settings) -> Watcher | None:
        if settings.watch is None or self.make_watcher is None:
            return None
        if is_captured_alone():
            self._left_out("what is watched (the processes were joined after the capture began)")
            return None
        return self.make_watcher(name, settings.watch)

    def fire(self, equation: DebugCall, arrays: tuple[np.ndarray, ...], settings: Settings) -> None:
        """Record an equation that has run with these operands in a program that no capture has compiled."""
        self._make_recorder(equation, settings)(*arrays)

    def _make_recorder(self, equation: DebugCall, settings: Settings) -> Recorder:
        # A print whose format cannot take its values runs as in JAX, so that it raises what JAX raises.
        unformattable = why_unformattable(equation) if equation.kind == "print" else ""
        silent = equation.kind == "print" and not (settings.echo or unformattable)
        # In a loop with a counter, the program itself leaves out the prints that are not recorded. Calls of the user's code
        # are never left out.
        counted = equation.countable and settings.every > 1
        on_device = settings.every if counted and silent and not is_captured_alone() else 1
        tap = self._taps.of(equation, counted=counted, on_device=on_device, every=settings.every)
        if unformattable:
            self.box(settings.box).outcomes.notes.append(
                f"{tap.site.where}: the print {equation.format!r} fails, without a capture as well: {unformattable}."
            )
        switch, every = self.sites.switch_of(tap.site.id), settings.every // on_device
        box = self.box(settings.box)
        if equation.kind in CALLING:
            asked = asked_by(equation, self.sites.line_of)
            made = box.outcomes.recorder(
                tap, asked, switch, box.firings, equation.run, every, None if equation.stop else equation.returns
            )
            if equation.stop:
                made = self.breakpoint_recorder(tap, equation, switch, box.firings, made)
        elif equation.kind == "sharding":
            return box.outcomes.sharding_recorder(tap, switch, box.firings, equation.run)
        else:
            is_echo = equation.kind == "print" and not unformattable
            run = unless_muted(switch, equation.run) if is_echo else equation.run
            made = recorder(tap, switch, box.firings, None if silent else run, self.gate, every)
        if counted:
            made.every = on_device
        return made

    def _make_reporter(self, equation: DebugCall, settings: Settings) -> ResultReporter | None:
        # A log must reach its handlers, and a print that must raise has to run when it fires.
        if equation.kind != "print" or not can_be_formatted(equation):
            return None
        tap = self._taps.of(equation, counted=False, on_device=1, every=settings.every)
        inbox = self.box(settings.box).firings
        return TapReporter(tap, self.sites.switch_of(tap.site.id), inbox, settings.every)
