"""Define the protocols through which the panel uses the session: the runs, the switches of sites, the debugger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from jax_debug_widgets.breakpoints import Debugger
    from jax_debug_widgets.session.added import AddedNames
    from jax_debug_widgets.session.panel.feed import Feed
    from jax_debug_widgets.session.panel.rows import Row
    from jax_debug_widgets.session.panel.stops import StopFeed
    from jax_debug_widgets.session.run.compare import RunRow
    from jax_debug_widgets.session.run.view import RunView
    from jax_debug_widgets.session.switches import Switches
    from jax_debug_widgets.widgets import Panel


class PanelsOfRuns(Protocol):
    """The panels as the answers to requests use them."""

    def of(self, run: RunView) -> Panel: ...
    def feed_of(self, run: RunView) -> Feed: ...
    def stops_of(self, run: RunView) -> StopFeed: ...
    def send_to_others(self, run: RunView) -> None: ...


class ProgramAnswers(Protocol):
    """Answers requests about the programs that pages show."""

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]: ...


class CallProgramAnswers(Protocol):
    """Answers requests about the programs that calls ran."""

    def answer(self, run: RunView | None, request: Mapping[str, Any]) -> dict[str, Any]: ...


class RowsOfRuns(Protocol):
    """The table of runs."""

    def rows(self) -> list[Row]: ...


class PanelPorts(Protocol):
    """The session as the panel uses it."""

    @property
    def panels(self) -> PanelsOfRuns: ...
    @property
    def program_views(self) -> ProgramAnswers: ...
    @property
    def call_programs(self) -> CallProgramAnswers: ...
    @property
    def debugger(self) -> Debugger: ...
    @property
    def switches(self) -> Switches: ...
    @property
    def added(self) -> AddedNames: ...
    def find_run(self, key: str) -> RunView | None: ...
    def runs(self) -> list[RunView]: ...
    def shelved(self) -> list[RunRow]: ...
    @property
    def listing(self) -> RowsOfRuns: ...
    def load(self, path: str) -> None: ...
