"""The interfaces of the session for observers, recordings, switches and interrupts: few members, never the whole."""

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
    """The session, as far as a question about a function needs it."""

    @property
    def capture(self) -> Capture: ...


class Measured(Protocol):
    """Keeps the newest comparisons with float64."""

    @property
    def measured(self) -> Iterable[AgainstFloat64]: ...


class CapturesAndRuns(Captures, Protocol):
    """That, and the newest run."""

    @property
    def current(self) -> Run | None: ...
    @property
    def program_views(self) -> Measured: ...


class ProgramsOfCalls(Protocol):
    """Keeps the programs that calls have run."""

    def take(self, run: str, program: Any) -> None:
        """A call of this run begins to run a program; None where it is not known."""
        ...


class ObservedSession(Protocol):
    """The session, as far as programs need it."""

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
    """The session, as far as a run that goes on needs it."""

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
    """The session, as far as interrupts need it."""

    @property
    def active(self) -> Run | None: ...
    @property
    def stoppable(self) -> Run | None: ...
    @property
    def debugger(self) -> Debugger: ...


class Loading(Protocol):
    """The session, as far as loading a run needs it."""

    @property
    def panels(self) -> Panels: ...
    @property
    def listing(self) -> Listing: ...
    def take_loaded(self, run: LoadedRun) -> None: ...
    def shelve(self, rows: Sequence[RunRow], load: Callable[[Path], LoadedRun]) -> None: ...
