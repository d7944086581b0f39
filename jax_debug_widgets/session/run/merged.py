"""Show a run of several processes as one: events in the order of one clock, calls by number, and where the processes differ."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jax_debug_widgets.events import Finding, Status, ThreadSpans
from jax_debug_widgets.session.run import replicas
from jax_debug_widgets.session.run.findings import Findings
from jax_debug_widgets.session.run.first_nonfinite import birth, first_event, joined
from jax_debug_widgets.session.run.joint import SpansOfAll, calls_of_all, found_by_all, status_of_all
from jax_debug_widgets.session.run.liveness import has_just_written
from jax_debug_widgets.session.run.loaded import LoadedRun
from jax_debug_widgets.session.run.loaded_calls import LoadedSpans
from jax_debug_widgets.session.run.merging import Merging

if TYPE_CHECKING:
    from jax_debug_widgets.archive.reader import SavedRun
    from jax_debug_widgets.store import Budget
    from jax_debug_widgets.widgets import Panel

_SHARE = 50
"""At most one part in 50 of the time is spent on comparing the processes of a followed run."""


class MergedRun(LoadedRun):
    """A run that several processes have written, as one; `processes` has the run of each process.

    `event.process` is the process in which an event fired. Events are in the order of the clock of process 0. Each process has
    its own sites, and calls with the same number are one call.
    """

    def __init__(
        self,
        path: Path,
        parts: Callable[[Sequence[int]], list[LoadedRun]],
        budget: Budget,
        panel_of: Callable[[LoadedRun], Panel],
        key: str | None = None,
    ) -> None:
        """Read all parts; `parts` reads the runs of the processes that are not among the numbers that it gets."""
        self._found: list[Finding] = []
        self._copies: dict[int, int] = {}
        self._compared: object = None
        self._compare_at = 0.0
        super().__init__(path, _PartsReader(parts, budget), panel_of, key)

    @property
    def processes(self) -> tuple[LoadedRun, ...]:
        """The runs of the processes, one for each."""
        return tuple(self._parts.parts)

    @property
    def _saved_process(self) -> int | None:
        return None

    @property
    def _parts(self) -> _PartsReader:
        assert isinstance(self._reader, _PartsReader)
        return self._reader

    def follow(self) -> bool:
        """Read the events that have come since. Return whether any process may write more, also one that has not begun."""
        self.is_followed = True
        self._parts.follow()
        self._take(self._parts.read())
        return self.goes_on

    def lose(self, why: str) -> None:
        """Follow none of its processes any more, see `LoadedRun.lose`."""
        for part in self._parts.parts:
            if part.goes_on:
                part.lose(why)
        super().lose(why)

    def _take(self, saved: SavedRun) -> None:
        self._saved, parts = saved, self._parts.parts
        self.watched = {self._parts.merging.site(site) for part in parts for site in part.watched}
        calls = calls_of_all(parts, self._parts.shifts_ns())
        self._call_log.take(calls, LoadedSpans(saved.spans), sum(part.call_log.dropped for part in parts))
        self.trace_prints = parts[0].trace_prints
        self.compilations = parts[0].compilations
        self._compare()
        self._findings = found_by_all(parts, self._parts.merging.site)
        self._status = self._status_of({})

    def _compare(self) -> None:
        """Find where the processes differ, but not too often."""
        parts = self._parts.parts
        now = [(len(part.store), part.call_log.newest) for part in parts]
        if now == self._compared or time.monotonic() < self._compare_at:
            return
        began = time.monotonic()
        self._found, self._copies = replicas.compared(parts, self._parts.merging.site_id)
        self._compared, ended = now, time.monotonic()
        is_over = not any(part.goes_on for part in parts)
        self._compare_at = 0.0 if is_over else ended + _SHARE * (ended - began)

    @property
    def findings(self) -> Findings:
        """The findings of each process, and those about the differences between processes."""
        return Findings([*self._found, *joined(self._findings, self, self._status.notes)])

    def found_so_far(self) -> list[Finding]:
        """See `RunView`."""
        return [*self._found, *self._findings]

    @property
    def copies(self) -> Mapping[int, int]:
        """See `RunView`."""
        return self._copies

    @property
    def sign(self) -> str:
        """Says which processes give no sign, see `LoadedRun.sign`."""
        return "; ".join(f"process {part.process} {part.sign}" for part in self.processes if part.sign)

    @property
    def is_complete(self) -> bool:
        """Whether all processes of the job have ended, and their files are complete."""
        return not self._parts.awaited and all(part.is_complete for part in self.processes)

    def _is_awaiting(self) -> bool:
        """Whether a process that has not begun may still begin, because the others have written a moment ago."""
        is_new = any(has_just_written(part.saved.about, part.saved.state) for part in self._parts.parts)
        return self.is_followed and bool(self._parts.awaited) and is_new

    def _status_of(self, state: Any) -> Status:  # noqa: ARG002 - the status comes from the states of the processes.
        parts = self._parts.parts
        status = status_of_all(parts, self._parts.shifts_ns(), self._parts.awaited)
        return replace(
            status,
            state="running" if self._is_awaiting() else status.state,
            started=self._parts.base,
            events=len(self.store),
            dropped=self.store.dropped,
            dropped_by_site=self.store.dropped_by_site(),
            findings=status.findings + len(self._found),
            first_nonfinite=first_event(self, birth(self._findings, self, status.notes)),
            copies=self._copies,
        )


class _PartsReader:
    """Reads the runs of several processes, and merges them."""

    def __init__(self, more: Callable[[Sequence[int]], list[LoadedRun]], budget: Budget) -> None:
        self.parts: list[LoadedRun] = []
        self.merging = Merging(budget)
        self.base = 0.0
        """When the run began, in seconds since the epoch by the clock of process 0."""
        self._more, self._spans = more, SpansOfAll(self.merging.site_id)
        self._add()
        self.process = self.parts[0].process

    @property
    def awaited(self) -> list[int]:
        """The numbers of the processes of the job that have not written anything yet."""
        there = {part.process for part in self.parts}
        return [number for number in range(max(part.place.count for part in self.parts)) if number not in there]

    def shifts_ns(self) -> list[int]:
        """Return the nanoseconds to add to the times of each process."""
        return [round((part.place.began - self.base) * 1e9) for part in self.parts]

    def has_changed(self) -> bool:
        """Return True: only the parts know whether they have changed."""
        return True

    def follow(self) -> None:
        """Read the new events of each process, and add processes that have begun."""
        self._add()
        for part in self.parts:
            part.follow()

    def read(self) -> SavedRun:
        """Merge the events that have come, and return the whole run."""
        from jax_debug_widgets.archive.reader import SavedRun

        parts = self.parts
        self.merging.take(awaited=[part.process for part in parts if part.is_followed and part.goes_on])
        spans: ThreadSpans = self._spans.take(parts, self.shifts_ns())
        sources = {file: source for part in reversed(parts) for file, source in part.saved.sources.items()}
        first = parts[0].saved
        return SavedRun(first.about, {}, self.merging.store, [], spans, sources, [], 0)

    def _add(self) -> None:
        known = [part.process for part in self.parts]
        found = self._more(known) if not known or self.awaited else []
        if not found:
            return
        self.parts = sorted([*self.parts, *found], key=lambda part: part.process)
        if not self.base:
            self.base = min(part.place.began for part in found)
        self.merging.add(found, [round((part.place.began - self.base) * 1e9) for part in found])
