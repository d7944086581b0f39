"""Keep the outcomes of the user's host functions in one run: which returned, raised or are stuck, which JAX removed."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, overload

from jax_debug_widgets._jax.origins.libraries import is_library
from jax_debug_widgets.events import CallbackSummary, CallSite, Event, HostCall, Outcome, Tap
from jax_debug_widgets.events.amounts import in_time
from jax_debug_widgets.events.errors import error_line
from jax_debug_widgets.session.run.callback_notes import eliminated_note, raised_note, stuck_note
from jax_debug_widgets.widgets.table import Table

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.ports import Values
    from jax_debug_widgets.session.run.spans import SpanLog
    from jax_debug_widgets.taps.outcomes import OutcomeBook, ResultCounts, Running
    from jax_debug_widgets.taps.refusals import RefusedCallback

MAX_HOST_CALLS = 100_000
"""The most single calls that are kept. The summaries count all calls."""

MAX_ERRORS = 100
"""The most exceptions that are kept, because their tracebacks hold frames and arrays."""


@dataclass
class _Tally:
    returned: int = 0
    raised: int = 0
    total: float = 0.0
    longest: float = 0.0
    threads: Counter[str] = field(default_factory=Counter)
    error: BaseException | None = None


class RunCallbacks(Sequence[CallbackSummary]):
    """Holds a summary for each site that calls a function of the user's. Safe from any thread.

    `run.callbacks["host"]` is the summary of the site that calls the function `host`.
    """

    def __init__(self, run: Values, origin_ns: int, spans: SpanLog, book: OutcomeBook) -> None:
        """Start without calls. Times are since `origin_ns`."""
        self._run, self._origin_ns, self._book, self._spans = run, origin_ns, book, spans
        self._lock = threading.Lock()
        self._sites: dict[int, CallSite] = {}
        self._tallies: dict[int, _Tally] = {}
        self._staged: dict[int, ResultCounts] = {}
        self._notes: dict[str, None] = {}
        self._refused: dict[RefusedCallback, None] = {}
        self._calls: deque[HostCall] = deque()
        self._by_event: dict[tuple[Tap, int, tuple[int, ...]], HostCall] = {}
        self._keys: deque[tuple[Tap, int, tuple[int, ...]]] = deque()
        self._nbytes = self._ended = self._errors = 0

    @property
    def calls(self) -> list[HostCall]:
        """The newest calls, 100 000 at most and within a quarter of `max_mb`, in the order in which they ended."""
        self._run.collect()
        with self._lock:
            return list(self._calls)

    @property
    def dropped(self) -> int:
        """The number of ended calls that are no longer in `calls`."""
        with self._lock:
            return self._ended - len(self._calls)

    @property
    def nbytes(self) -> int:
        """The bytes of kept results."""
        return self._nbytes

    def release(self, nbytes: int) -> int:
        """Drop the oldest calls of an ended run until `nbytes` are freed. Return the freed bytes."""
        with self._lock:
            before = self._nbytes
            self._let_go(max(before - nbytes, 0))
            return before - self._nbytes

    def call_of(self, event: Event) -> HostCall | None:
        """Return the outcome of an event's call; None while the call runs, and if it is no longer kept."""
        self._run.collect()
        with self._lock:
            lane = event.lane if event.tap.lanes or event.tap.is_numbered else ()
            return self._by_event.get((event.tap, event.time_ns, lane))

    def take(self) -> None:
        """Take in the outcomes since the last time; only while the run is the session's current one."""
        with self._lock:
            for _ in range(len(self._book.inbox)):
                self._take_outcome(self._book.inbox.popleft())
            self._book.results.settle()
            for _ in range(len(self._book.staged)):
                self._take_staged(self._book.staged.popleft())
            for _ in range(len(self._book.notes)):
                self._notes[self._book.notes.popleft()] = None
            for _ in range(len(self._book.refused)):
                self._refused[self._book.refused.popleft()] = None

    def refused(self) -> list[RefusedCallback]:
        """Return the callbacks that JAX has refused."""
        with self._lock:
            return list(self._refused)

    def stuck(self) -> list[Running]:
        """Return the functions that have run for longer than the option `stuck_after`, the oldest first."""
        before = time.perf_counter_ns() - self._run.options.stuck_after * 1e9
        return [one for one in self._running() if one.began_ns < before]

    def explains(self, error: str) -> bool:
        """Whether a note, or the finding of a refused callback, is about the exception with this line, see `error_line`."""
        with self._lock:
            raised = [error_line(tally.error) for tally in self._tallies.values() if tally.error]
            refused = [one.error.strip().partition("\n")[0] for one in self._refused]
        return error in raised or any(error.endswith(f": {one}") for one in refused)

    def notes(self) -> list[str]:
        """Return the notes about host functions, as sentences."""
        name_file = self._run.name_file
        stuck = [stuck_note(running, self._run.options.stuck_after, name_file) for running in self.stuck()]
        summaries = self._summaries()
        raised = [raised_note(summary, name_file) for summary in summaries if summary.raised]
        # A library's checks are often removed, and its user cannot do anything about them.
        own = [summary for summary in summaries if summary.eliminated and not is_library(summary.site.file)]
        eliminated = [eliminated_note(summary) for summary in own]
        with self._lock:
            return [*stuck, *raised, *self._notes, *eliminated]

    def __len__(self) -> int:
        return len(self._all())

    @overload
    def __getitem__(self, index: int | str) -> CallbackSummary: ...
    @overload
    def __getitem__(self, index: slice) -> list[CallbackSummary]: ...
    def __getitem__(self, index: int | str | slice) -> CallbackSummary | list[CallbackSummary]:
        summaries = self._all()
        if not isinstance(index, str):
            return summaries[index]
        for summary in summaries:
            name = summary.site.format
            if index in (name, name.rpartition(".")[2], f"{name}@{summary.site.where}"):
                return summary
        known = ", ".join(sorted({summary.site.format for summary in summaries})) or "none"
        msg = f"no captured callback is called {index!r}; there are: {known}"
        raise KeyError(msg)

    def __iter__(self) -> Iterator[CallbackSummary]:
        return iter(self._all())

    def __repr__(self) -> str:
        return self.table().text() if len(self) else "<no callbacks>"

    def _repr_html_(self) -> str:
        return self.table().html()

    def table(self) -> Table:
        """Return the summaries as a table: place, function, kind, calls, times, threads, how they ended."""
        return Table(_HEADERS, [_row(summary) for summary in self._all()])

    def _all(self) -> list[CallbackSummary]:
        self._run.collect()
        return self._summaries()

    def _summaries(self) -> list[CallbackSummary]:
        running = Counter(one.tap.site.id for one in self._running())
        with self._lock:
            return [self._summary(site, running[number]) for number, site in self._sites.items()]

    def is_running_here(self) -> bool:
        """Return whether the current thread is inside a callback of the run."""
        here = threading.get_ident()
        return any(one.thread == here and one.began_ns >= self._origin_ns for one in self._book.running())

    def _running(self) -> list[Running]:
        found = [one for one in self._book.running() if one.began_ns >= self._origin_ns]
        with self._lock:
            for one in found:
                self._sites.setdefault(one.tap.site.id, one.tap.site)
        return found

    def _summary(self, site: CallSite, running: int) -> CallbackSummary:
        tally, staged = self._tallies.get(site.id, _Tally()), self._staged.get(site.id)
        return CallbackSummary(
            site=site,
            calls=tally.returned + tally.raised + running,
            returned=tally.returned,
            raised=tally.raised,
            total=tally.total,
            longest=tally.longest,
            threads=dict(tally.threads),
            error=tally.error,
            staged=staged.traced if staged else None,
            kept=staged.kept if staged else None,
        )

    def _take_outcome(self, outcome: Outcome) -> None:
        tap, fired, began, ended, thread, lane, returned, error = outcome
        seconds, name = (ended - began) * 1e-9, self._spans.name_of(thread, began)
        self._sites.setdefault(tap.site.id, tap.site)
        tally = self._tallies.setdefault(tap.site.id, _Tally())
        tally.returned, tally.raised = tally.returned + (error is None), tally.raised + (error is not None)
        tally.total, tally.longest = tally.total + seconds, max(tally.longest, seconds)
        tally.threads[name] += 1
        tally.error = error or tally.error
        self._errors += error is not None
        call = HostCall(
            site=tap.site,
            number=self._ended,
            started_ns=began - self._origin_ns,
            duration_ns=ended - began,
            thread=name,
            lane=lane,
            result=returned.take() if returned is not None else None,
            raised="" if error is None else f"{type(error).__name__}: {error}",
            error=error if self._errors <= MAX_ERRORS else None,
            asked=self._book.asked(tap),
            fired_ns=fired - self._origin_ns,
        )
        self._ended += 1
        self._spans.add(tap.site.id, call.started_ns, call.started_ns + call.duration_ns, name)
        self._keep(call, (tap, call.fired_ns, lane))

    @property
    def budget(self) -> int:
        """The most bytes of kept results: a part of what the run may hold."""
        return self._run.options.budget.nbytes // 4

    def _keep(self, call: HostCall, key: tuple[Tap, int, tuple[int, ...]]) -> None:
        self._calls.append(call)
        self._keys.append(key)
        self._by_event[key] = call
        self._nbytes += _size(call)
        self._let_go(self.budget)

    def _let_go(self, nbytes: int) -> None:
        """Keep the newest calls, with at most `nbytes` of results."""
        while len(self._calls) > MAX_HOST_CALLS or self._nbytes > nbytes:
            self._nbytes -= _size(self._calls.popleft())
            self._by_event.pop(self._keys.popleft(), None)

    def _take_staged(self, staged: ResultCounts) -> None:
        self._sites.setdefault(staged.site.id, staged.site)
        self._staged[staged.site.id] = staged


_HEADERS = ("where", "function", "kind", "calls", "returned", "raised", "mean", "longest", "total", "threads", "ended")


def _row(summary: CallbackSummary) -> tuple[str, ...]:
    site = summary.site
    ended = summary.returned + summary.raised
    threads = [f"{count} × {name}" for name, count in summary.threads.items() if not name.startswith("XLA ")]
    others = sum(count for name, count in summary.threads.items() if name.startswith("XLA "))
    if others:
        threads.append(f"{others} × XLA")
    end = "eliminated" if summary.eliminated else error_line(summary.error) if summary.error else ""
    times = [in_time(seconds) if ended else "" for seconds in (summary.mean, summary.longest, summary.total)]
    return (
        site.where,
        site.format,
        f"{'ordered ' if site.ordered else ''}{site.kind}{'' if site.phase == 'forward' else f', {site.phase}'}",
        str(summary.calls),
        str(summary.returned),
        str(summary.raised),
        *times,
        ", ".join(threads),
        end,
    )


def _size(call: HostCall) -> int:
    return sum(array.nbytes for array in call.result or ())
