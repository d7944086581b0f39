"""Define the protocols through which parts of the room use the session: each has the few members that the part needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from jax_debug_widgets._jax.running.inputs import InputHooks
    from jax_debug_widgets._jax.running.twins import TwinHooks
    from jax_debug_widgets.breakpoints import Debugger, InterruptWatch
    from jax_debug_widgets.graphs import AgainstFloat64
    from jax_debug_widgets.session.collecting import Collector
    from jax_debug_widgets.session.contexts import Contexts
    from jax_debug_widgets.session.panel.listing import Listing
    from jax_debug_widgets.session.panel.panels import Panels
    from jax_debug_widgets.session.run.loaded import LoadedRun
    from jax_debug_widgets.session.run.run import Run
    from jax_debug_widgets.session.run.run_row import RunRow
    from jax_debug_widgets.taps import Capture


class Captures(Protocol):
    """The session as questions about a function use it."""

    @property
    def capture(self) -> Capture: ...


class Measured(Protocol):
    """Keeps the newest comparisons with float64."""

    @property
    def measured(self) -> Iterable[AgainstFloat64]: ...


class CapturesAndRuns(Captures, Protocol):
    """The session as questions about a function use it, with the newest run."""

    @property
    def current(self) -> Run | None: ...
    @property
    def program_views(self) -> Measured: ...


class ProgramsOfCalls(Protocol):
    """Keeps the programs that calls ran."""

    def take(self, run: str, program: Any) -> None:
        """Note that a call of this run begins to run a program; None if the program is not known."""
        ...


class ObservedSession(Protocol):
    """The session as `SessionObserver` uses it."""

    @property
    def capture(self) -> Capture: ...
    @property
    def debugger(self) -> Debugger: ...
    @property
    def active(self) -> Run | None: ...
    @property
    def call_programs(self) -> ProgramsOfCalls: ...
    @property
    def input_hooks(self) -> InputHooks: ...
    @property
    def twin_hooks(self) -> TwinHooks: ...
    @property
    def collector(self) -> Collector: ...


class Recorded(Protocol):
    """The session as `Recording` uses it."""

    @property
    def capture(self) -> Capture: ...
    @property
    def contexts(self) -> Contexts: ...
    @property
    def debugger(self) -> Debugger: ...
    @property
    def interrupts(self) -> InterruptWatch: ...
    @property
    def listing(self) -> Listing: ...
    @property
    def panels(self) -> Panels: ...
    @property
    def input_hooks(self) -> InputHooks: ...
    @property
    def twin_hooks(self) -> TwinHooks: ...
    def collect(self) -> None: ...
    def stop(self, run: Run) -> None: ...
    @property
    def collector(self) -> Collector: ...


class Interrupted(Protocol):
    """The session as the handling of interrupts uses it."""

    @property
    def active(self) -> Run | None: ...
    @property
    def stoppable(self) -> Run | None: ...
    @property
    def debugger(self) -> Debugger: ...


class Loading(Protocol):
    """The session as loading a run uses it."""

    @property
    def panels(self) -> Panels: ...
    @property
    def listing(self) -> Listing: ...
    def take_loaded(self, run: LoadedRun) -> None: ...
    def shelve(self, rows: Sequence[RunRow], load: Callable[[Path], LoadedRun]) -> None: ...
