"""Define the protocols through which parts of a run use the run, and through which a run uses the session.

Each part names a protocol with the few members that it needs. `Run` and `Session` have these members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from matplotlib.axes import Axes

    from jax_debug_widgets._jax.origins.frames import Frame
    from jax_debug_widgets._jax.running.backlog import Backlog
    from jax_debug_widgets.events import Call, CallSite, Finding, Status, ThreadSpans
    from jax_debug_widgets.session.options import Options
    from jax_debug_widgets.session.run.texts import Texts
    from jax_debug_widgets.session.run.waiter import Waiter
    from jax_debug_widgets.store import Store
    from jax_debug_widgets.taps.outcomes import OutcomeBook
    from jax_debug_widgets.watch.choosing.compile_report import CompiledPrograms
    from jax_debug_widgets.watch.choosing.select import Watch
    from jax_debug_widgets.widgets import Panel


class Values(Protocol):
    """A run as readers of its values use it."""

    @property
    def key(self) -> str: ...
    @property
    def options(self) -> Options: ...
    @property
    def store(self) -> Store: ...
    @property
    def watched(self) -> set[CallSite]: ...
    @property
    def copies(self) -> Mapping[int, int]: ...
    def collect(self) -> None: ...
    def earlier(self, site_id: int) -> Mapping[str, np.ndarray] | None: ...
    def name_file(self, file: str) -> str: ...
    def watch_seen(self) -> CompiledPrograms | None: ...
    @property
    def plot(self) -> Callable[..., Axes]: ...
    @property
    def show(self) -> Callable[..., Axes]: ...


class Spans(Protocol):
    """The spans of threads as the panel uses them."""

    @property
    def count(self) -> int: ...
    def since(self, first: int) -> ThreadSpans: ...


class CallsOfRun(Protocol):
    """The calls of a run as readers use them."""

    @property
    def dropped(self) -> int: ...
    @property
    def newest(self) -> int: ...
    @property
    def spans(self) -> Spans: ...
    def calls(self, since: int = 0) -> tuple[list[Call], int]: ...


class Outlined(Protocol):
    """A run as its summary uses it."""

    @property
    def store(self) -> Store: ...
    @property
    def call_log(self) -> CallsOfRun: ...
    def status(self) -> Status: ...


class IdentifiedRun(Protocol):
    """A run with what distinguishes it from other runs."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def config(self) -> Mapping[str, Any]: ...
    @property
    def cell(self) -> int | None: ...
    @property
    def asked(self) -> str: ...


class ComparedRun(IdentifiedRun, Protocol):
    """A run as the comparison of several runs uses it."""

    @property
    def store(self) -> Store: ...
    def collect(self) -> None: ...


class WithSources(Protocol):
    """A run as readers of its source files use it."""

    is_loaded: bool

    def source_of(self, file: str) -> Mapping[str, Any]: ...


class Counted(Values, WithSources, Protocol):
    """A run as the search for NaN uses it."""

    @property
    def call_log(self) -> CallsOfRun: ...


class Readable(Counted, Protocol):
    """A run as a report uses it."""

    texts: Texts

    @property
    def checked_calls(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def findings(self) -> list[Finding]: ...
    @property
    def notes(self) -> list[str]: ...
    def status(self) -> Status: ...


class Noting(Protocol):
    """A run as `TracePrints` uses it."""

    def name_file(self, file: str) -> str: ...
    def note(self, sentence: str) -> None: ...


@dataclass(frozen=True)
class RunPorts:
    """The session as a run uses it.

    Attributes:
      waiter: waits for outputs and effects.
      backlog: results of programs that nobody has read yet.
      collect: moves firings into the stores of the runs.
      outcomes_of: number of a box -> its outcomes of host calls.
      leaked: returns the tracers that outlive their traces, and the lines that began these traces, see `_jax.tracing.leaks`.
      name_file: makes the name of a file for people.
      panel_of: returns the panel of a run.
      refresh: writes the output of a run again.
      compile_report: returns what is known about the programs compiled for a `watch`.
      changed_sites, muted_sites: return the ids of the sites that the user switched, or muted.
      sampled_sites: returns id of a site -> n, if one firing of n is recorded.
      muted_checks: returns the checks with hidden findings.
      added_names: returns the names that the user added to the watch.
      added_lines: returns the lines at which the next run stops.
      debugging_status: returns the part of a run's status about breakpoints, pause and stop.
    """

    waiter: Waiter
    backlog: Backlog
    collect: Callable[[], None]
    outcomes_of: Callable[[int], OutcomeBook]
    leaked: Callable[[], list[tuple[Any, tuple[Frame, ...]]]]
    name_file: Callable[[str], str]
    panel_of: Callable[[Any], Panel]
    refresh: Callable[[Any], None]
    compile_report: Callable[[Watch], CompiledPrograms]
    changed_sites: Callable[[], Iterable[int]]
    muted_sites: Callable[[], frozenset[int]]
    sampled_sites: Callable[[], dict[int, int]]
    muted_checks: Callable[[], frozenset[str]]
    added_names: Callable[[], tuple[str, ...]]
    added_lines: Callable[[], tuple[str, ...]]
    debugging_status: Callable[[Any], dict[str, Any]]
