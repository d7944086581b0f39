"""Watch the programs of this process: a watcher for each program, and what the watchers have found."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.watch.choosing.compile_report import CompiledPrograms
from jax_debug_widgets.watch.choosing.program_watcher import ProgramWatcher
from jax_debug_widgets.watch.choosing.select import Pattern, Watch, wants_file
from jax_debug_widgets.watch.syntax.noted import lines_of

if TYPE_CHECKING:
    from types import CodeType

    from jax_debug_widgets._jax.tracing.expressions import Lines
    from jax_debug_widgets.taps import Capture


class ProgramWatchers:
    """The watches of the programs of this process.

    Attributes:
      prepared: called with the name of a program whose taps were put in, and the seconds that this took.
    """

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._lock = threading.Lock()
        self._seen: dict[Watch, CompiledPrograms] = {}
        self._bodies = itertools.count()
        self.prepared: Callable[[str, float], None] = lambda _program, _seconds: None
        capture.make_watcher = self._watcher
        capture.lines_of = self._lines_of
        capture.reports_lanes = lambda watch: watch is not None

    def seen(self, watch: Watch) -> CompiledPrograms:
        """Return the findings about programs compiled for `watch` so far."""
        with self._lock:
            return self._seen.setdefault(watch.in_calls(taken=False), CompiledPrograms())

    def begin(self, watch: Watch) -> None:
        """Note that a capture with this watch begins."""
        self.seen(watch).forget_failures()

    def _lines_of(self, code: CodeType, watch: Watch | None) -> Lines | None:
        if watch is not None and not wants_file(self._patterns_of(watch), code.co_filename):
            return None
        return lines_of(code)

    def _patterns_of(self, watch: Watch) -> list[Pattern]:
        return [Pattern(name, self._capture.sites.name_file) for name in (*watch.names, *watch.added)]

    def _watcher(self, _name: str, watch: Any) -> ProgramWatcher:
        return ProgramWatcher(self._capture, watch, self.seen(watch), self._bodies, self.prepared)
