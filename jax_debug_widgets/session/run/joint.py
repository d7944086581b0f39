"""Join the calls, thread spans, findings and status of a run's processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from jax_debug_widgets.events import Barrier, Call, CallSite, Finding, ProcessStatus, Status, ThreadSpans
from jax_debug_widgets.events.call import state_name
from jax_debug_widgets.session.run import replicas
from jax_debug_widgets.session.run.liveness import still_open

if TYPE_CHECKING:
    from jax_debug_widgets.session.run.loaded import LoadedRun

_CALLS = ("failed", "stopped", "interrupted", "tracing", "dispatched", "ready", "drained")
"""A call of several processes has the first of these states that it has in any process."""

_RUNS = ("failed", "stopped", "running", "waiting", "loaded", "interrupted", "done")
_BARRIERS = ("failed", "timeout", "pending", "drained", "idle", "off")

_MICROSECOND = 1e-6


def calls_of_all(parts: Sequence[LoadedRun], shifts_ns: Sequence[int]) -> list[Call]:
    """Return the calls of all processes; calls with the same number become one."""
    by_number: dict[int, list[tuple[int, Call]]] = {}
    for part, shift in zip(parts, shifts_ns, strict=True):
        for call in part.call_log.calls()[0]:
            by_number.setdefault(call.id, []).append((part.process, _later(call, shift)))
    return [_one_call(by_number[number]) for number in sorted(by_number)]


def _later(call: Call, shift: int) -> Call:
    def moved(time: int | None) -> int | None:
        return None if time is None else time + shift

    return replace(
        call,
        started_ns=call.started_ns + shift,
        queued_ns=call.queued_ns and call.queued_ns + shift,
        dispatched_ns=moved(call.dispatched_ns),
        ready_ns=moved(call.ready_ns),
        drained_ns=moved(call.drained_ns),
        flight=call.flight and (call.flight[0] + shift, *call.flight[1:]),
    )


def _one_call(own: Sequence[tuple[int, Call]]) -> Call:
    calls = [call for _, call in own]
    if len(calls) == 1:
        return calls[0]
    slowest = max(calls, key=lambda call: call.run or 0.0)
    errors = [f"process {process}: {call.error}" for process, call in own if call.error]
    return replace(
        calls[0],
        name=" | ".join(dict.fromkeys(call.name for call in calls)),
        state=min((call.state for call in calls), key=_CALLS.index),
        started_ns=min(call.started_ns for call in calls),
        dispatched_ns=_last(call.dispatched_ns for call in calls),
        ready_ns=_last(call.ready_ns for call in calls),
        drained_ns=_last(call.drained_ns for call in calls),
        trace=_longest(call.trace for call in calls),
        lower=_longest(call.lower for call in calls),
        compile=_longest(call.compile for call in calls),
        effects=any(call.effects for call in calls),
        ordered=any(call.ordered for call in calls),
        events=sum(call.events for call in calls),
        error="; ".join(errors),
        retraced=next((call.retraced for call in calls if call.retraced), None),
        prints=next((call.prints for call in calls if call.prints), ()),
        queued_ns=max(call.queued_ns for call in calls),
        run=slowest.run,
        run_of=slowest.run_of,
        flight=slowest.flight,
    )


def _last(times: Iterable[int | None]) -> int | None:
    """Return the latest of the processes' times; None if one process has none."""
    known = list(times)
    return None if None in known else max(time for time in known if time is not None)


def _longest(times: Iterable[float | None]) -> float | None:
    return max((time for time in times if time is not None), default=None)


class SpansOfAll:
    """Collects the thread spans of all processes. A span keeps its number."""

    def __init__(self, site_id: Callable[[int, int], int]) -> None:
        self._site_id = site_id
        self._seen: dict[int, int] = {}
        self._threads: list[str] = []
        self._columns = [np.zeros((0, 4), np.int64)]

    def take(self, parts: Sequence[LoadedRun], shifts_ns: Sequence[int]) -> ThreadSpans:
        """Return all spans that there are now."""
        for part, shift in zip(parts, shifts_ns, strict=True):
            seen = self._seen.get(part.process, 0)
            new = part.call_log.spans.since(seen)
            self._seen[part.process] = seen + len(new.site)
            self._columns.append(self._moved(part.process, new, shift))
        table = np.concatenate(self._columns)
        self._columns = [table]
        return ThreadSpans(0, tuple(self._threads), *table.T)

    def _moved(self, process: int, new: ThreadSpans, shift: int) -> np.ndarray:
        if not len(new.site):
            return np.zeros((0, 4), np.int64)
        names = [f"process {process} · {name}" for name in new.threads]
        self._threads += [name for name in names if name not in self._threads]
        threads = np.array([self._threads.index(name) for name in names], np.int64)[new.thread]
        sites = [site if site < 0 else self._site_id(process, site) for site in new.site.tolist()]
        return np.stack([np.array(sites, np.int64), threads, new.from_ns + shift, new.to_ns + shift], axis=1)


def found_by_all(parts: Sequence[LoadedRun], site_of: Callable[[CallSite], CallSite]) -> list[Finding]:
    """Return the findings of the processes: once if all have it, else with the numbers of the processes that have it."""
    found: dict[tuple[str, str, str], list[tuple[int, Finding]]] = {}
    for part in parts:
        for one in part.found_so_far():
            if one.kind != "nonfinite" or one.site is None:  # NaN in events are found in the merged events.
                found.setdefault((one.kind, one.where, one.headline or one.message), []).append((part.process, one))
    return [_joined(own, len(parts), site_of) for own in found.values()]


def _joined(own: Sequence[tuple[int, Finding]], count: int, site_of: Callable[[CallSite], CallSite]) -> Finding:
    numbers = list(dict.fromkeys(number for number, _ in own))
    first = own[0][1]
    first = replace(first, site=first.site and site_of(first.site), event=-1, followed_by=())
    if len(numbers) == count:
        return first
    who = f"In {_named(numbers)}."
    return replace(first, message=f"{who} {first.message}", why=f"{who} {first.why}" if first.headline else first.why)


def _named(numbers: Sequence[int]) -> str:
    return f"process{'es' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"


def status_of_all(parts: Sequence[LoadedRun], shifts_ns: Sequence[int], awaited: Sequence[int]) -> Status:
    """Return the status of a run of several processes."""
    statuses = [part.status() for part in parts]
    first = statuses[0]
    titles = list(dict.fromkeys(status.title for status in statuses))
    return replace(
        first,
        state=min((status.state for status in statuses), key=_RUNS.index),
        title=" | ".join(titles),
        elapsed=max(status.elapsed + shift * 1e-9 for status, shift in zip(statuses, shifts_ns, strict=True)),
        rate=sum(status.rate for status in statuses),
        barrier=_barrier(parts, statuses, shifts_ns),
        notes=tuple(_notes(parts, statuses, awaited)),
        nonfinite=None,
        findings=max(status.findings for status in statuses),
        processes=tuple(_status_of(part, status) for part, status in zip(parts, statuses, strict=True)),
    )


def _status_of(part: LoadedRun, status: Status) -> ProcessStatus:
    calls = part.call_log.calls()[0]
    last = f"call {calls[-1].id} `{calls[-1].name}` {state_name(calls[-1].state)}" if calls else "no call"
    return ProcessStatus(part.process, part.place.host, status.state, status.events, part.sign, last)


def _barrier(parts: Sequence[LoadedRun], statuses: Sequence[Status], shifts_ns: Sequence[int]) -> Barrier:
    """Join the barriers of all processes, with the calls that each waits for."""
    barriers = [status.barrier for status in statuses]
    pending = [
        f"{call} in process {part.process}"
        for part, barrier in zip(parts, barriers, strict=True)
        for call in barrier.pending
    ]
    behind = list(replicas.behind(parts))
    waits = [
        (start + shift * 1e-9, None if end is None else end + shift * 1e-9)
        for barrier, shift in zip(barriers, shifts_ns, strict=True)
        for start, end in barrier.waits
    ]
    return Barrier(
        state="pending" if behind else min(barriers, key=lambda one: _BARRIERS.index(one.state)).state,
        pending=(*pending, *behind),
        waited=max(one.waited for one in barriers),
        timeout=barriers[0].timeout,
        waits=tuple(sorted(waits, key=lambda wait: wait[0])),
    )


def _notes(parts: Sequence[LoadedRun], statuses: Sequence[Status], awaited: Sequence[int]) -> Iterator[str]:
    """Yield the notes of each process, once if all have the same; then the notes about all processes."""
    processes_of: dict[str, list[int]] = {}
    for part, status in zip(parts, statuses, strict=True):
        has_no_end = still_open(part.saved.about, part.saved.state)  # One note lists all processes that are gone.
        for note in status.notes:
            if note == has_no_end:
                continue
            processes_of.setdefault(note, []).append(part.process)
    for note, numbers in processes_of.items():
        yield note if len(numbers) == len(parts) else f"{_named(numbers).capitalize()}: {note}"
    yield from replicas.notes_of(parts)
    if awaited:
        yield f"{_named(awaited).capitalize()} of this job has written nothing yet."
    for part in parts:
        if abs(part.place.ahead) > max(part.place.error, _MICROSECOND):
            yield (
                f"The clock of process {part.process} ({part.place.host}) is {part.place.ahead:+.6f} s from that of process "
                f"0, to within {part.place.error:.6f} s: the merged order allows for it."
            )
