"""The interfaces of a run for its parts, and of the session for a run: few callables, never the whole.

A part names the protocol that it needs; `Run` and `Session` have these members without knowing who asks.
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
    """A run as its values are read: what has fired, and which values it watches."""

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
    """The spans of threads, as the panel asks for them."""

    @property
    def count(self) -> int: ...
    def since(self, first: int) -> ThreadSpans: ...


class CallsOfRun(Protocol):
    """The calls of a run, as they are read."""

    @property
    def dropped(self) -> int: ...
    @property
    def newest(self) -> int: ...
    @property
    def spans(self) -> Spans: ...
    def calls(self, since: int = 0) -> tuple[list[Call], int]: ...


class Outlined(Protocol):
    """A run whose most telling value is looked for, and how fast it goes."""

    @property
    def store(self) -> Store: ...
    @property
    def call_log(self) -> CallsOfRun: ...
    def status(self) -> Status: ...


class Counted(Values, Protocol):
    """A run whose values may be NaN, and which calls had them."""

    @property
    def call_log(self) -> CallsOfRun: ...


class WithSources(Protocol):
    """A run, as far as the text of its files is read."""

    is_loaded: bool

    def source_of(self, file: str) -> Mapping[str, Any]: ...


class Readable(Counted, WithSources, Protocol):
    """A run, as a report reads it."""

    texts: Texts

    @property
    def checked_calls(self) -> int: ...
    @property
    def title(self) -> str: ...
    @property
    def findings(self) -> list[Finding]: ...
    @property
    def notes(self) -> list[str]: ...
    def status(self) -> Status: ...


class IdentifiedRun(Protocol):
    """A run, as far as people tell it from others."""

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


class Noting(Protocol):
    """A run, as far as a print asks of it."""

    def name_file(self, file: str) -> str: ...
    def note(self, sentence: str) -> None: ...


@dataclass(frozen=True)
class RunPorts:
    """The session, as a run sees it.

    Attributes:
      waiter: waits for outputs and effects.
      backlog: results of programs that nobody has read yet.
      collect: takes in what has fired.
      outcomes_of: what has become of host calls, by box.
      leaked: the tracers that outlive their traces, and the lines that began these; see `_jax.tracing.leaks`.
      name_file: the name by which people know a file.
      panel_of: the panel of a run.
      refresh: writes the output of a run anew.
      compile_report: what the programs compiled for a `watch` have shown.
      changed_sites, muted_sites, sampled_sites: numbers of the sites that somebody has switched; how often they are sampled.
      muted_checks: the checks whose findings nobody wants to see.
      added_names: what somebody has added to what is watched; added_lines: the lines at which the next run stops.
      debugging_status: what the status of a run says of breakpoints, pause and stop.
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
